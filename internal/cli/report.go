package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

type reportOptions struct {
	*streams
	since string
	json  bool
	html  string
}

func newReport(s *streams) *cobra.Command {
	o := &reportOptions{streams: s}
	c := &cobra.Command{
		Use: "report", Short: "What was done, what moved and why, and the time that was lost",
		Args: args(cobra.NoArgs, "`paceline report --since 12h`"),
		RunE: func(c *cobra.Command, _ []string) error { return reportRun(c.Context(), o) },
	}
	c.Flags().StringVar(&o.since, "since", "12h", "how far back: `so long` (12h), or a time (2026-12-01, 2026-12-01T22:00:00Z)")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	c.Flags().StringVar(&o.html, "html", "", "write one HTML `file` with a picture of who worked when; - is stdout")
	c.MarkFlagsMutuallyExclusive("json", "html")
	return c
}

// report is what `report --json` prints.
type report struct {
	Since   time.Time      `json:"since"`
	Until   time.Time      `json:"until"`
	Threads []threadReport `json:"threads"`
	// Lost is how long work stood still, in seconds, by the cause of it.
	Lost map[string]float64 `json:"lost_seconds"`
}

type threadReport struct {
	Thread   string   `json:"thread"`
	Title    string   `json:"title"`
	Dir      string   `json:"dir"`
	Answered int      `json:"answered"` // messages, of all that were open in this time
	Messages int      `json:"messages"`
	Status   string   `json:"status"` // of the last one
	Outcome  string   `json:"outcome,omitempty"`
	Moves    []move   `json:"moves"`
	Engines  []string `json:"engines"` // that worked on it, in the order of their first run
	Chain    []string `json:"chain"`   // those that may
	Runs     []spell  `json:"runs"`    // that worked in this time
}

// spell is the time that one run worked.
type spell struct {
	Run    string    `json:"run"`
	Engine string    `json:"engine"`
	Status string    `json:"status"`
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended"` // now, where it still works
}

// move is a run that failed, and what followed it.
type move struct {
	At    time.Time `json:"at"`
	From  string    `json:"from"`
	To    string    `json:"to,omitempty"` // "" where nothing followed
	Cause string    `json:"cause"`
	Idle  float64   `json:"idle_seconds"` // until the next run began
}

func reportRun(ctx context.Context, o *reportOptions) error {
	now := time.Now()
	since, err := o.from(now)
	if err != nil {
		return err
	}
	st, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	threads, err := st.Threads(ctx)
	if err != nil {
		return err
	}
	out := report{Since: since.UTC(), Until: now.UTC(), Threads: []threadReport{}, Lost: map[string]float64{}}
	for _, th := range threads {
		if th.Updated.Before(since) {
			continue
		}
		messages, err := st.Messages(ctx, th.ID)
		if err != nil {
			return err
		}
		runs, err := st.Runs(ctx, th.ID)
		if err != nil {
			return err
		}
		t := about(th, messages, runs, since, now)
		for _, m := range t.Moves {
			out.Lost[m.Cause] += m.Idle
		}
		out.Threads = append(out.Threads, t)
	}
	switch {
	case o.json:
		return json.NewEncoder(o.out).Encode(out)
	case o.html != "":
		return o.page(out)
	}
	o.print(out)
	return nil
}

// page writes the report as HTML. Titles are beginnings of prompts, so the file
// is its user's alone.
func (o *reportOptions) page(r report) error {
	if o.html == "-" {
		return r.html(o.out, time.Local)
	}
	var b bytes.Buffer
	if err := r.html(&b, time.Local); err != nil {
		return err
	}
	if err := os.WriteFile(o.html, b.Bytes(), 0o600); err != nil {
		return &UserError{Msg: fmt.Sprintf("the report could not be written: %v", err), Hint: "name a file in a folder that is there", Code: exitFailed}
	}
	fmt.Fprintf(o.out, "wrote %s\n", tilde(o.html, o.environ))
	return nil
}

// from reads --since.
func (o *reportOptions) from(now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(o.since); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, o.since, now.Location()); err == nil {
			return t, nil
		}
	}
	return now, usage(fmt.Sprintf("%q is neither a time nor so long", o.since), "as in 12h, 2026-12-01 or 2026-12-01T22:00:00Z")
}

// about is what became of a thread between two times.
func about(th store.Thread, messages []store.Message, runs []run.State, since, now time.Time) threadReport {
	t := threadReport{Thread: string(th.ID), Title: th.Title, Dir: th.Dir, Moves: []move{}, Engines: []string{}, Chain: []string{}, Runs: []spell{}}
	for _, e := range th.Chain {
		t.Chain = append(t.Chain, e.String())
	}
	for _, m := range messages {
		if !m.Settled.IsZero() && m.Settled.Before(since) {
			continue
		}
		t.Messages++
		if m.Status == run.Answered {
			t.Answered++
		}
		t.Status, t.Outcome = m.Status.String(), m.Outcome
	}
	after := map[paceline.RunID]run.State{}
	for _, r := range runs {
		after[r.After] = r
	}
	for _, r := range runs {
		if r.Created.Before(since) && r.Ended.Before(since) && !r.Open() {
			continue
		}
		if e := r.Engine.String(); !slices.Contains(t.Engines, e) {
			t.Engines = append(t.Engines, e)
		}
		if !r.Began.IsZero() {
			s := spell{Run: string(r.ID), Engine: r.Engine.String(), Status: r.Phase.String(), Began: r.Began.UTC(), Ended: r.Ended.UTC()}
			if r.Ended.IsZero() {
				s.Ended = now.UTC()
			}
			t.Runs = append(t.Runs, s)
		}
		if r.Phase != run.Failed || r.Failure == nil {
			continue
		}
		m := move{At: r.Ended.UTC(), From: r.Engine.String(), Cause: r.Failure.Cause.String()}
		if next, ok := after[r.ID]; ok {
			m.To = next.Engine.String()
			if begun := next.Began; begun.After(r.Ended) {
				m.Idle = begun.Sub(r.Ended).Seconds()
			}
		} else if r.Waiting() {
			m.Idle = now.Sub(r.Ended).Seconds()
		}
		t.Moves = append(t.Moves, m)
	}
	return t
}

func (o *reportOptions) print(r report) {
	if len(r.Threads) == 0 {
		fmt.Fprintf(o.out, "nothing was worked on since %s\n", when(r.Since, r.Until))
		return
	}
	fmt.Fprintf(o.out, "since %s\n", when(r.Since, r.Until))
	for _, t := range r.Threads {
		fmt.Fprintf(o.out, "\n%s  %s  (%s)\n", t.Thread, printable(t.Title), tilde(t.Dir, o.environ))
		fmt.Fprintf(o.out, "  %d of %d messages answered, by %s; the last one is %s\n", t.Answered, t.Messages, strings.Join(t.Engines, ", "), t.Status)
		if t.Outcome != "" {
			fmt.Fprintf(o.out, "  %s\n", printable(t.Outcome))
		}
		for _, m := range t.Moves {
			line := fmt.Sprintf("  %s  %s: %s", m.At.Local().Format("15:04"), m.From, m.Cause)
			switch {
			case m.To == "":
				line += ", nothing followed yet"
			case m.To == m.From:
				line += ", went on itself"
			default:
				line += " → " + m.To
			}
			if m.Idle >= 60 {
				line += fmt.Sprintf(" after %s", span(m.Idle))
			}
			fmt.Fprintln(o.out, line)
		}
	}
	var lost []string
	for _, c := range slices.Sorted(maps.Keys(r.Lost)) {
		if r.Lost[c] >= 1 {
			lost = append(lost, fmt.Sprintf("%s %s", c, span(r.Lost[c])))
		}
	}
	if len(lost) > 0 {
		fmt.Fprintf(o.out, "\nstood still: %s\n", strings.Join(lost, ", "))
	}
}

// span is a number of seconds as people say it.
func span(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
