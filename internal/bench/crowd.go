package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

// What the crowd is: so many threads at once, each of which says so much.
const (
	crowd  = 50
	deltas = 400
)

// crowd measures the server alone: its programs are stand-ins that only talk.
func (b *bed) crowd() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bin := filepath.Join(b.dir, "stand-in")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	if err := fakeapi.StandInAs(bin, self, "stand-in"); err != nil {
		return err
	}
	b.env = append(b.env, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "PACELINE_STATE="+filepath.Join(b.dir, "crowd"))
	defer func() { _ = b.command(b.paceline, "server", "stop").Run() }()
	before, err := b.rss()
	if err != nil {
		return err
	}
	start := time.Now()
	errs := make(chan error, crowd)
	var group sync.WaitGroup
	for range crowd {
		group.Go(func() { errs <- b.command(b.paceline, "run", "-e", "claude", "count").Run() })
	}
	group.Wait()
	took := time.Since(start)
	close(errs)
	for err := range errs {
		if err != nil {
			return fmt.Errorf("crowd: %w", err)
		}
	}
	after, err := b.rss()
	if err != nil {
		return err
	}
	fmt.Printf("%d threads at once, each with a client: %.0f frames/s in all, %.1f MB of the server's memory per run\n",
		crowd, crowd*deltas/took.Seconds(), float64(after-before)/crowd/(1<<20))
	return nil
}

// rss is the most memory that the server has had, in bytes. It is started where
// it does not run.
func (b *bed) rss() (int64, error) {
	// Asking about a thread that is none starts the server, and nothing else.
	_ = b.command(b.paceline, "trust", b.project).Run()
	out, err := b.command(b.paceline, "server", "status", "--json").Output()
	if err != nil {
		return 0, err
	}
	var i struct{ Pid int }
	if err := json.Unmarshal(out, &i); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", i.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("process %d does not tell its memory", i.Pid)
}
