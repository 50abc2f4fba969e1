package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/paceline/paceline/internal/usage"
)

// scanOnce is the scan in a process of its own, as ccusage is: its time and its
// memory are measured from outside. It prints the sums for the comparison.
func scanOnce(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("scan-once CLAUDE CODEX INDEX, each of which may be empty")
	}
	var roots usage.Roots
	if args[0] != "" {
		roots.Claude = []string{args[0]}
	}
	if args[1] != "" {
		roots.Codex = args[1:2]
	}
	start := time.Now()
	r, err := usage.New(roots, args[2], time.UTC).Scan(context.Background(), nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d files, %d of %d bytes read, %v\n", r.Files, r.Read, r.Bytes, time.Since(start))
	return json.NewEncoder(os.Stdout).Encode(r)
}
