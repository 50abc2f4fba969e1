//go:build !linux

package sqlite_test

import "testing"

func mountOn(t *testing.T, _ string, _ bool, _ string) {
	t.Helper()
	t.Skip("this takes a mount")
}

func resize(*testing.T, string, string) {}
