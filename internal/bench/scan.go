package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/paceline/paceline/internal/usage"
	"github.com/paceline/paceline/internal/usage/tally"
)

// scanBench measures the scan for usage against ccusage's native binary, on
// made-up trees of the size that heavy users have, and compares the sums. Each
// scan is a process of its own, with nothing remembered.
func scanBench(ctx context.Context, n int) error {
	checkout, err := os.Getwd()
	if err != nil {
		return err
	}
	s := &scanBed{ctx: ctx, dir: filepath.Join(checkout, ".bench", "scan")}
	bins, _ := filepath.Glob(filepath.Join(checkout, ".bench", "ccusage", "node_modules", "@ccusage", "ccusage-*", "bin", "ccusage"))
	if len(bins) == 0 {
		return errors.New("ccusage's native binary is not there")
	}
	s.ccusage = bins[0]
	if err := os.Chmod(s.ccusage, 0o755); err != nil {
		return err
	}
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	if err := s.trees(); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "what\tpaceline\tccusage\tratio [min-max]\tgoal\tpeak memory\tsums")
	for _, row := range []struct {
		vendor tally.Vendor
		goal   float64
	}{{tally.Claude, 0.5}, {tally.Codex, 0.83}} {
		if err := s.row(w, row.vendor, row.goal, n); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return s.again(n)
}

type scanBed struct {
	ctx                context.Context
	dir, self, ccusage string
}

// trees makes both trees, once: the next run finds them.
func (s *scanBed) trees() error {
	for name, build := range map[string]func(root string) error{"projects": claudeTree, "sessions": codexTree} {
		root := filepath.Join(s.dir, name)
		if _, err := os.Stat(root); err == nil {
			continue
		}
		fmt.Fprintln(os.Stderr, "making", root, "…")
		if err := os.RemoveAll(root + ".part"); err != nil {
			return err
		}
		if err := build(root + ".part"); err != nil {
			return err
		}
		if err := os.Rename(root+".part", root); err != nil {
			return err
		}
	}
	return nil
}

// timing is what one process took.
type timing struct {
	wall   time.Duration
	memory int64
	out    []byte
}

func (s *scanBed) timed(name string, args ...string) (t timing, err error) {
	cmd := exec.CommandContext(s.ctx, name, args...)
	cmd.Env = []string{"HOME=" + s.dir, "CLAUDE_CONFIG_DIR=" + s.dir, "CODEX_HOME=" + s.dir, "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return t, fmt.Errorf("%s: %w: %s", filepath.Base(name), err, said.String())
	}
	t.wall, t.out = time.Since(start), out.Bytes()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		if t.memory = u.Maxrss; runtime.GOOS == "linux" {
			t.memory <<= 10
		}
	}
	return t, nil
}

func (s *scanBed) row(w *tabwriter.Writer, v tally.Vendor, goal float64, n int) error {
	ours := func() (timing, error) {
		if v == tally.Codex {
			return s.timed(s.self, "scan-once", "", filepath.Join(s.dir, "sessions"), "")
		}
		return s.timed(s.self, "scan-once", filepath.Join(s.dir, "projects"), "", "")
	}
	theirs := func() (timing, error) { return s.timed(s.ccusage, v.String(), "daily", "--json", "--offline") }
	var results ratios
	var memory [2]int64
	for i := range n + 1 {
		var t [2]timing
		order := []int{0, 1}
		if i%2 == 1 {
			order = []int{1, 0}
		}
		for _, side := range order {
			run := ours
			if side == 1 {
				run = theirs
			}
			var err error
			if t[side], err = run(); err != nil {
				return err
			}
		}
		if i == 0 { // warms the page cache, and compares the sums
			if err := same(v, t[0].out, t[1].out); err != nil {
				return err
			}
			continue
		}
		results = append(results, pair{ms(t[0].wall), ms(t[1].wall)})
		for side := range memory {
			memory[side] = max(memory[side], t[side].memory)
		}
	}
	a, b := results.medians()
	lo, mid, hi := results.spread()
	fmt.Fprintf(w, "%s\t%.0f ms\t%.0f ms\t%.2f [%.2f-%.2f]\t≤ %.2f\t%d / %d MB\tequal\n", v, a, b, mid, lo, hi, goal, memory[0]>>20, memory[1]>>20)
	return nil
}

// day is one day's use of one model, as either side prints it.
type day struct{ date, model string }

// same compares the sums of every day and model.
func same(v tally.Vendor, ours, theirs []byte) error {
	var r usage.Report
	if err := json.Unmarshal(ours, &r); err != nil {
		return err
	}
	mine := map[day]tally.Tokens{}
	for _, s := range r.Sums {
		if s.Model == "" || s.Model == "<synthetic>" {
			continue
		}
		s.Total = s.Input + s.Output + s.CacheWrite + s.CacheRead
		mine[day{s.Day, s.Model}] = s.Tokens
	}
	type counts struct{ InputTokens, OutputTokens, CacheCreationTokens, CacheReadTokens, ReasoningOutputTokens uint64 }
	var c struct {
		Daily []struct {
			Date            string
			Models          map[string]counts
			ModelBreakdowns []struct {
				ModelName string
				counts
			}
		}
	}
	if err := json.Unmarshal(theirs, &c); err != nil {
		return err
	}
	other := map[day]tally.Tokens{}
	put := func(date, model string, c counts) {
		t := tally.Tokens{Input: c.InputTokens, Output: c.OutputTokens, CacheWrite: c.CacheCreationTokens, CacheRead: c.CacheReadTokens, Reasoning: c.ReasoningOutputTokens}
		t.Total = t.Input + t.Output + t.CacheWrite + t.CacheRead
		other[day{date, model}] = t
	}
	for _, d := range c.Daily {
		for model, n := range d.Models {
			put(d.Date, model, n)
		}
		for _, m := range d.ModelBreakdowns {
			put(d.Date, m.ModelName, m.counts)
		}
	}
	if len(mine) == 0 || !maps.Equal(mine, other) {
		for k, t := range other {
			if mine[k] != t {
				return fmt.Errorf("%s: %s %s: %+v here, %+v at ccusage", v, k.date, k.model, mine[k], t)
			}
		}
		return fmt.Errorf("%s: %d sums here, %d at ccusage", v, len(mine), len(other))
	}
	return nil
}

// again measures a second scan: of a new process, with the index, and of one
// that goes on running.
func (s *scanBed) again(n int) error {
	index := filepath.Join(s.dir, "index")
	roots := usage.Roots{Claude: []string{filepath.Join(s.dir, "projects")}, Codex: []string{filepath.Join(s.dir, "sessions")}}
	if _, err := usage.New(roots, index, time.UTC).Scan(s.ctx, nil); err != nil {
		return err
	}
	var cold, warm, row []float64
	var files int
	live := usage.New(roots, index, time.UTC)
	last, err := live.Scan(s.ctx, nil)
	if err != nil {
		return err
	}
	grows := filepath.Join(s.dir, "projects", "grows.jsonl")
	defer os.Remove(grows)
	for i := range n {
		start := time.Now()
		r, err := usage.New(roots, index, time.UTC).Scan(s.ctx, nil)
		if err != nil {
			return err
		}
		cold, files = append(cold, ms(time.Since(start))), r.Files
		if r.Read != 0 || !slices.Equal(r.Sums, last.Sums) {
			return fmt.Errorf("nothing is new, and %d bytes were read", r.Read)
		}
		start = time.Now()
		if _, err := live.Scan(s.ctx, nil); err != nil {
			return err
		}
		warm = append(warm, ms(time.Since(start)))
		line := fmt.Sprintf(`{"type":"assistant","timestamp":"2026-12-01T00:00:%02d.000Z","sessionId":"s","message":{"id":"m%d","model":"claude-opus-4-6","usage":{"input_tokens":1,"output_tokens":1}},"requestId":"r"}`+"\n", i%60, i)
		f, err := os.OpenFile(grows, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(line)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		start = time.Now()
		if _, err := live.Scan(s.ctx, nil); err != nil {
			return err
		}
		row = append(row, ms(time.Since(start)))
		if err := os.Remove(grows); err != nil {
			return err
		}
		if _, err := live.Scan(s.ctx, nil); err != nil {
			return err
		}
	}
	fmt.Printf("nothing new in %d files: %.1f ms from the index, %.1f ms in a server that runs (goal ≤ 50 ms); one row more: %.1f ms\n",
		files, median(cold), median(warm), median(row))
	return nil
}
