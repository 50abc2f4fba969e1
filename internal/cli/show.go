package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/secret"
	"github.com/paceline/paceline/internal/store"
)

type showOptions struct {
	*streams
	thread string
	last   bool
	item   string
	json   bool
}

func newShow(s *streams) *cobra.Command {
	o := &showOptions{streams: s}
	c := &cobra.Command{
		Use: "show THREAD", Short: "Show a thread: its messages, runs, claims and what was said",
		Args: args(cobra.MaximumNArgs(1), "`paceline threads` lists the threads"),
		RunE: func(c *cobra.Command, a []string) error {
			o.thread = strings.Join(a, "")
			return showRun(c.Context(), o)
		},
	}
	c.Flags().BoolVarP(&o.last, "continue", "c", false, "the last thread of this directory")
	c.Flags().StringVar(&o.item, "item", "", "print one item whole, by its `number`; m2 is the second message")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return c
}

// threadWhole is a thread as `show --json` prints it.
type threadWhole struct {
	Thread   store.Thread    `json:"thread"`
	Messages []store.Message `json:"messages"`
	Runs     []run.State     `json:"runs"`
	Items    []store.Item    `json:"items"`
	// Heard is when the program of the run that is not over last gave a sign of
	// life, and Silent how many seconds ago.
	Heard  *time.Time `json:"heard,omitempty"`
	Silent *float64   `json:"silent_s,omitempty"`
}

func showRun(ctx context.Context, o *showOptions) error {
	st, th, err := o.find(ctx, o.thread, o.last)
	if err != nil {
		return err
	}
	defer st.Close()
	whole := threadWhole{Thread: th}
	if whole.Messages, err = st.Messages(ctx, th.ID); err != nil {
		return err
	}
	if whole.Runs, err = st.Runs(ctx, th.ID); err != nil {
		return err
	}
	if whole.Items, err = st.Items(ctx, th.ID, 0); err != nil {
		return err
	}
	if slices.ContainsFunc(whole.Runs, run.State.Live) {
		if at, ok := o.heard(ctx)[th.ID]; ok {
			silent := max(0, time.Since(at).Seconds())
			whole.Heard, whole.Silent = &at, &silent
		}
	}
	if harness.Environment(o.environ).Get("PACELINE_RUN") != "" {
		if err := whole.blank(); err != nil {
			return err
		}
	}
	if o.item != "" {
		return o.one(whole)
	}
	if o.json {
		return json.NewEncoder(o.out).Encode(whole)
	}
	o.people(whole)
	return nil
}

// find opens the store and the thread that a command names: by id, or the last
// one of this directory.
func (s *streams) find(ctx context.Context, id string, last bool) (*store.Store, store.Thread, error) {
	if id == "" && !last {
		return nil, store.Thread{}, usage("no thread was named", "name one, or use -c for the last one of this directory")
	}
	st, err := s.open(ctx)
	if err != nil {
		return nil, store.Thread{}, err
	}
	dir, err := absolute(".")
	if err != nil {
		dir = "/"
	}
	th, err := pickThread(ctx, st, id, last, harness.Tree(dir))
	if err != nil {
		st.Close()
		return nil, th, err
	}
	return st, th, nil
}

// blank takes secrets out, where it is an agent that reads: what a packet does
// not carry to another vendor, a look at the thread must not either (F48).
func (w *threadWhole) blank() error {
	find, err := secret.New()
	if err != nil {
		return err
	}
	for i := range w.Messages {
		w.Messages[i].Text, _ = find.Blank(w.Messages[i].Text)
	}
	for i := range w.Items {
		var fields map[string]string
		if err := json.Unmarshal(w.Items[i].Body, &fields); err != nil {
			return fmt.Errorf("item %d: %w", w.Items[i].Seq, err)
		}
		for k, v := range fields {
			fields[k], _ = find.Blank(v)
		}
		if w.Items[i].Body, err = json.Marshal(fields); err != nil {
			return fmt.Errorf("item %d: %w", w.Items[i].Seq, err)
		}
	}
	return nil
}

// one prints what a packet names by its id: an item by its number in the
// thread, a message as m and its place among the messages.
func (o *showOptions) one(w threadWhole) error {
	for i, m := range w.Messages {
		if o.item == fmt.Sprintf("m%d", i+1) {
			_, err := fmt.Fprintln(o.out, printable(m.Text))
			return err
		}
	}
	for _, it := range w.Items {
		if o.item == strconv.FormatInt(it.Seq, 10) {
			_, err := fmt.Fprintln(o.out, printable(body(it)))
			return err
		}
	}
	return usage(fmt.Sprintf("there is no item %s", printable(o.item)), "`paceline show THREAD` numbers them")
}

func (o *showOptions) people(w threadWhole) {
	now := time.Now()
	th := w.Thread
	chain := make([]string, len(th.Chain))
	for i, e := range th.Chain {
		chain[i] = e.String()
	}
	fmt.Fprintf(o.out, "%s  %s\n%s, %s mode, chain %s, begun %s\n", th.ID, printable(th.Title),
		tilde(th.Dir, o.environ), th.Mode, strings.Join(chain, " → "), when(th.Created, now))
	if line := seatLine(th.Seat, w.Runs, now); line != "" {
		fmt.Fprintln(o.out, line)
	}
	for _, m := range w.Messages {
		fmt.Fprintf(o.out, "\n> %s\n", strings.ReplaceAll(printable(short(m.Text, 400)), "\n", "\n> "))
		for _, r := range w.Runs {
			if r.Message != m.ID {
				continue
			}
			fmt.Fprintf(o.out, "\n%s on %s: %s%s", r.ID, r.Engine, r.Phase, after(r))
			if w.Heard != nil && r.Live() {
				fmt.Fprintf(o.out, ", last heard of %s", distance(w.Heard.Sub(now)))
			}
			fmt.Fprintln(o.out)
			if r.Claim.Phase != run.NoClaim {
				fmt.Fprintf(o.out, "  claim %s: %s\n", r.Claim.Phase, claimed(r.Claim))
			}
			if r.Waiting() {
				fmt.Fprintf(o.out, "  waits for %s until %s, %s\n", r.Wait.For, when(r.Wait.Until, now), r.Wait.Source)
			}
			o.items(w.Items, r.ID)
		}
		fmt.Fprintf(o.out, "\n%s", m.Status)
		if m.Outcome != "" {
			fmt.Fprintf(o.out, ": %s", m.Outcome)
		}
		fmt.Fprintln(o.out)
	}
}

// seatLine says who holds a thread's seat, and what its user asked of it; "" is
// nobody yet (Z40).
func seatLine(s run.Seat, runs []run.State, now time.Time) string {
	var held paceline.Engine
	var aside []string
	for _, r := range runs {
		if r.Holds() {
			held = r.Engine
		}
	}
	for _, r := range runs {
		if e := r.Engine.String(); r.Holds() && r.Engine != held && !slices.Contains(aside, e) {
			aside = append(aside, e)
		}
	}
	if !held.Valid() && s == (run.Seat{}) {
		return ""
	}
	line := fmt.Sprintf("seat: %s gen %d", held, run.Generation(runs))
	if !held.Valid() {
		line = "seat: nobody yet"
	}
	if len(aside) > 0 {
		line += ", set aside: " + strings.Join(aside, ", ")
	}
	if n := s.Next; n != nil {
		line += fmt.Sprintf("; the next message goes to %s", n.Engine)
	}
	if !s.Parked.IsZero() {
		line += "; parked " + when(s.Parked, now) + " until it gets a message"
	}
	return line
}

// after says how long a run took and why it failed.
func after(r run.State) string {
	var out string
	if !r.Ended.IsZero() && !r.Began.IsZero() {
		out = fmt.Sprintf(" after %s", r.Ended.Sub(r.Began).Round(100*time.Millisecond))
	}
	if f := r.Failure; f != nil {
		out += fmt.Sprintf(" (%s, work %s", f.Cause, f.Work)
		if f.Reset.Known() {
			out += ", lifts " + when(f.Reset.At, time.Now())
		}
		out += ")"
	}
	return out
}

func claimed(c run.Claim) string {
	if c.Phase == run.Dispatched {
		return fmt.Sprintf("became %s on %s", c.Next, c.Target)
	}
	return c.Why
}

func (o *showOptions) items(items []store.Item, id paceline.RunID) {
	for _, it := range items {
		if it.Run != id {
			continue
		}
		text := printable(short(body(it), 2000))
		switch it.Kind {
		case "text":
			fmt.Fprintf(o.out, "  %s\n", strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  "))
		case "result", "stopped": // a call's end; what an announcement says as well: --json has them
		case "packet":
			fmt.Fprintf(o.out, "  [%d] was sent a packet of %d bytes; --item %d prints it\n", it.Seq, len(body(it)), it.Seq)
		default:
			fmt.Fprintf(o.out, "  [%d] %s %s\n", it.Seq, it.Kind, text)
		}
	}
}

// body is the one string that an item holds.
func body(it store.Item) string {
	var fields map[string]string
	if json.Unmarshal(it.Body, &fields) == nil {
		if fields["about"] != "" {
			return fields["name"] + ": " + fields["about"]
		}
		for _, k := range []string{"text", "name", "path"} {
			if fields[k] != "" {
				return fields[k]
			}
		}
	}
	return ""
}

// short cuts a text to at most n bytes, at a rune.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
