// Command paceline keeps AI coding-agent work going.
package main

import (
	"os"

	"github.com/paceline/paceline/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
