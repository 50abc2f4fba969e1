//go:build !linux

package main

import "os/exec"

func isolate(*exec.Cmd) {}

func raise() error { return nil }
