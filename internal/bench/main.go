// Command bench measures what Paceline costs, as ratios against a reference in
// the same alternating run: machines are noisy, ratios travel.
//
// Each row launches real programs against scripted vendors on loopback. The
// references are the same program driven raw, with the flags that Paceline
// gives it, and the shell line that people write instead of Paceline.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "stand-in" {
		if err := fakeapi.StandIn(os.Stdin, os.Stdout, deltas); err != nil {
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "scan-once" {
		if err := scanOnce(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	n := flag.Int("n", 9, "rounds")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := bench
	if flag.Arg(0) == "scan" {
		run = scanBench
	}
	if err := run(ctx, *n); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// bed is where everything of one measurement lives.
type bed struct {
	ctx      context.Context
	checkout string
	paceline string
	dir      string
	project  string
	vendors  *fakeapi.Server
	env      []string
}

const task = "Say hello to the reader."

func bench(ctx context.Context, n int) error {
	b, err := newBed(ctx, 2*(n+1))
	if err != nil {
		return err
	}
	defer b.vendors.Close()
	defer func() { _ = b.command(b.paceline, "server", "stop").Run() }()
	rows := []row{
		{"claude, healthy: wall", "the same launch, raw", 1.03},
		{"claude, healthy: CPU", "the same launch, raw", 1.05},
		{"codex, healthy: wall", "the same launch, raw", 1.03},
		{"codex, healthy: CPU", "the same launch, raw", 1.05},
		{"cold failover: limit told → asked there", "claude -p … || codex exec …", 1.00},
	}
	results := make([]ratios, len(rows))
	for i := range n + 1 {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", i, n)
		var got []pair
		for _, engine := range []string{"claude", "codex"} {
			wall, cpu, err := b.healthy(engine, i%2 == 0)
			if err != nil {
				return fmt.Errorf("healthy %s: %w", engine, err)
			}
			got = append(got, wall, cpu)
		}
		gap, err := b.failover(i%2 == 0)
		if err != nil {
			return fmt.Errorf("failover: %w", err)
		}
		if i == 0 {
			continue // the first round warms caches, and is thrown away
		}
		for j, p := range append(got, gap) {
			results[j] = append(results[j], p)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "what\tpaceline\treference\tratio [min-max]\tgoal\tagainst")
	for i, r := range rows {
		ours, theirs := results[i].medians()
		lo, mid, hi := results[i].spread()
		fmt.Fprintf(w, "%s\t%.0f ms\t%.0f ms\t%.3f [%.3f-%.3f]\t≤ %.2f\t%s\n", r.what, ours, theirs, mid, lo, hi, r.goal, r.against)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return b.crowd()
}

type row struct {
	what, against string
	goal          float64
}

// pair is one alternating measurement, in milliseconds.
type pair struct{ ours, theirs float64 }

type ratios []pair

func (r ratios) medians() (ours, theirs float64) {
	var a, b []float64
	for _, p := range r {
		a, b = append(a, p.ours), append(b, p.theirs)
	}
	return median(a), median(b)
}

func (r ratios) spread() (lo, mid, hi float64) {
	var x []float64
	for _, p := range r {
		x = append(x, p.ours/p.theirs)
	}
	ours, theirs := r.medians()
	return slices.Min(x), ours / theirs, slices.Max(x)
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// newBed starts vendors that answer so many healthy runs of each program: a
// command, then two hundred deltas, unpaced.
func newBed(ctx context.Context, runs int) (*bed, error) {
	checkout, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	b := &bed{ctx: ctx, checkout: checkout, paceline: filepath.Join(checkout, "bin", "paceline"), dir: filepath.Join(checkout, ".bench")}
	if err := os.RemoveAll(b.dir); err != nil {
		return nil, err
	}
	b.project = filepath.Join(b.dir, "project")
	for _, d := range []string{filepath.Join(b.project, ".git"), filepath.Join(b.dir, "home"), filepath.Join(b.dir, "tmp")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	said := fakeapi.Text{Text: strings.Repeat("Hello, reader. ", 200), Chunks: 200}
	var healthy []fakeapi.Step
	for range runs {
		healthy = append(healthy, fakeapi.Step{Match: task, Answer: fakeapi.Shell("echo hi"), Once: true}, fakeapi.Step{Match: task, Answer: said, Once: true})
	}
	limit := fakeapi.Step{Match: "limited", Answer: fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}}
	b.vendors, err = fakeapi.Start(ctx, fakeapi.Script{
		Anthropic: append(healthy, limit),
		OpenAI:    append(slices.Clone(healthy), fakeapi.Step{Match: "limited", Answer: said}),
	})
	if err != nil {
		return nil, err
	}
	home := filepath.Join(b.dir, "home")
	claude, err := b.vendors.ClaudeEnv(home)
	if err != nil {
		return nil, err
	}
	codex, err := b.vendors.CodexEnv(home)
	if err != nil {
		return nil, err
	}
	b.env = slices.Concat(claude, codex, []string{
		"HOME=" + home, "TMPDIR=" + filepath.Join(b.dir, "tmp"), "LANG=C.UTF-8",
		"PATH=" + filepath.Join(checkout, "node_modules", ".bin") + string(os.PathListSeparator) + os.Getenv("PATH"),
		"PACELINE_STATE=" + filepath.Join(b.dir, "state"),
	})
	return b, nil
}

// healthy runs one task to its end both ways.
func (b *bed) healthy(engine string, oursFirst bool) (wall, cpu pair, err error) {
	ours := func() (time.Duration, time.Duration, error) {
		before := b.server()
		wall, cpu, err := timed(b.command(b.paceline, "run", "-e", engine, task))
		return wall, cpu + b.server() - before, err
	}
	theirs := func() (time.Duration, time.Duration, error) { return b.raw(engine) }
	var d [4]time.Duration
	if oursFirst {
		d[0], d[1], err = ours()
		if err == nil {
			d[2], d[3], err = theirs()
		}
	} else {
		d[2], d[3], err = theirs()
		if err == nil {
			d[0], d[1], err = ours()
		}
	}
	return pair{ms(d[0]), ms(d[2])}, pair{ms(d[1]), ms(d[3])}, err
}

// server is the processor time of the server and of all that it has waited for.
// Its children's are told in hundredths of a second: many rounds even that out.
func (b *bed) server() time.Duration {
	i := struct{ Pid, Serving int }{Serving: 1}
	for i.Serving > 0 { // the program may still be on its way out when it has answered
		out, err := b.command(b.paceline, "server", "status", "--json").Output()
		i.Serving = 0
		if err != nil || json.Unmarshal(out, &i) != nil || i.Pid == 0 {
			return 0
		}
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", i.Pid))
	_, rest, ok := strings.Cut(string(line), ") ")
	f := strings.Fields(rest)
	if err != nil || !ok || len(f) < 15 {
		return 0
	}
	var ticks int64
	for _, v := range f[11:15] { // utime, stime, and those of its children
		n, _ := strconv.ParseInt(v, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

func (b *bed) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(b.ctx, name, args...)
	cmd.Dir, cmd.Env = b.project, b.env
	return cmd
}

// timed runs a command whole: wall time, and the processor time of its tree.
func timed(cmd *exec.Cmd) (wall, cpu time.Duration, err error) {
	var said bytes.Buffer
	cmd.Stderr = &said
	start := time.Now()
	err = cmd.Run()
	wall = time.Since(start)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, said.String())
	}
	return wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// raw drives the same program with the same flags and the smallest driver that
// can.
func (b *bed) raw(engine string) (wall, cpu time.Duration, err error) {
	var cmd *exec.Cmd
	var talk func(write func(any) error, lines *bufio.Scanner) error
	switch engine {
	case "claude":
		cmd = b.command(filepath.Join(b.checkout, "node_modules", ".bin", "claude"))
		cmd.Args = []string{
			"claude", "-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose",
			"--include-partial-messages", "--replay-user-messages", "--include-hook-events", "--permission-prompt-tool", "stdio",
			"--permission-mode", "default",
		}
		talk = rawClaude
	case "codex":
		bins, _ := filepath.Glob(filepath.Join(b.checkout, "node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex"))
		if len(bins) == 0 {
			return 0, 0, errors.New("the native codex binary is not there")
		}
		cmd = b.command(bins[0], "app-server", "-c", "features.unbounded_connection_retries=false")
		talk = rawCodex(b.project)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	err = talk(func(v any) error { return json.NewEncoder(in).Encode(v) }, lines)
	in.Close()
	for lines.Scan() {
	}
	if e := cmd.Wait(); err == nil {
		err = e
	}
	return time.Since(start), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

func rawClaude(write func(any) error, lines *bufio.Scanner) error {
	err := write(map[string]any{"type": "user", "message": map[string]any{
		"role": "user", "content": []any{map[string]any{"type": "text", "text": task}},
	}, "parent_tool_use_id": nil})
	for err == nil && lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(`"result"`)) && !bytes.Contains(lines.Bytes(), []byte(`"control_request"`)) {
			continue
		}
		var m struct {
			Type      string
			RequestID string `json:"request_id"`
			Request   struct{ Input json.RawMessage }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		switch m.Type {
		case "result":
			return nil
		case "control_request":
			err = write(map[string]any{"type": "control_response", "response": map[string]any{
				"subtype": "success", "request_id": m.RequestID,
				"response": map[string]any{"behavior": "allow", "updatedInput": m.Request.Input},
			}})
		}
	}
	return errors.Join(err, errors.New("claude ended without a result"))
}

func rawCodex(dir string) func(func(any) error, *bufio.Scanner) error {
	return func(write func(any) error, lines *bufio.Scanner) error {
		next := func(id int) (json.RawMessage, error) {
			for lines.Scan() {
				var m struct {
					ID     *int
					Method string
					Result json.RawMessage
				}
				if json.Unmarshal(lines.Bytes(), &m) == nil && m.ID != nil && *m.ID == id && m.Method == "" {
					return m.Result, nil
				}
			}
			return nil, errors.New("codex ended early")
		}
		_ = write(map[string]any{"id": 1, "method": "initialize", "params": map[string]any{"clientInfo": map[string]any{"name": "bench", "version": "1"}}})
		if _, err := next(1); err != nil {
			return err
		}
		_ = write(map[string]any{"method": "initialized"})
		_ = write(map[string]any{"id": 2, "method": "thread/start", "params": map[string]any{"cwd": dir, "approvalPolicy": "never", "sandbox": "danger-full-access"}})
		r, err := next(2)
		if err != nil {
			return err
		}
		var opened struct{ Thread struct{ ID string } }
		if err := json.Unmarshal(r, &opened); err != nil {
			return err
		}
		_ = write(map[string]any{"id": 3, "method": "turn/start", "params": map[string]any{
			"threadId": opened.Thread.ID, "input": []any{map[string]any{"type": "text", "text": task}},
		}})
		for lines.Scan() {
			if bytes.Contains(lines.Bytes(), []byte(`"method":"turn/completed"`)) {
				return nil
			}
		}
		return errors.New("codex ended without an end of its turn")
	}
}

// failover measures how long the work stands still: from the request that
// Claude's vendor answers with a limit to the same task at Codex's.
func (b *bed) failover(oursFirst bool) (p pair, err error) {
	const limited = "A limited task: say hello."
	bins, _ := filepath.Glob(filepath.Join(b.checkout, "node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex"))
	if len(bins) == 0 {
		return p, errors.New("the native codex binary is not there")
	}
	ours := func() (float64, error) {
		// The limit that the round before left would be respected, rightly.
		cmd := b.command(b.paceline, "run", "--foreground", "--chain", "claude,codex", limited)
		cmd.Env = append(slices.Clone(b.env), fmt.Sprintf("PACELINE_STATE=%s/state-%d", b.dir, time.Now().UnixNano()))
		return b.gap(cmd)
	}
	theirs := func() (float64, error) {
		return b.gap(b.command("/bin/bash", "-c", `claude -p "$1" || "$2" exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox "$1" </dev/null`,
			"bash", limited, bins[0]))
	}
	if oursFirst {
		if p.ours, err = ours(); err == nil {
			p.theirs, err = theirs()
		}
		return p, err
	}
	if p.theirs, err = theirs(); err == nil {
		p.ours, err = ours()
	}
	return p, err
}

func (b *bed) gap(cmd *exec.Cmd) (float64, error) {
	before := len(b.vendors.Requests())
	if _, _, err := timed(cmd); err != nil {
		return 0, err
	}
	var limit, taken time.Time
	for _, r := range b.vendors.Requests()[before:] {
		switch {
		case r.Main && r.Vendor == fakeapi.Anthropic && limit.IsZero():
			limit = r.At
		case r.Main && r.Vendor == fakeapi.OpenAI && taken.IsZero():
			taken = r.At
		}
	}
	if limit.IsZero() || taken.IsZero() {
		return 0, errors.New("the task did not pass from one vendor to the other")
	}
	return ms(taken.Sub(limit)), nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
