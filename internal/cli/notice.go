package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/notice"
)

type noticeOptions struct {
	*streams
	harness, channel, at, zone string
	rows, json                 bool
}

// channels are where a text can have stood.
var channels = []string{"stdout_text", "result", "stderr", "structured_json", "transcript_row", "http_body", "model_text"}

func newNotice(s *streams) *cobra.Command {
	o := &noticeOptions{streams: s}
	c := &cobra.Command{
		Use: "notice TEXT", Short: "Show how the text of a failed call would be read",
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, a []string) error { return noticeRun(o, a) },
	}
	f := c.Flags()
	f.StringVar(&o.harness, "harness", "", "whose text it is; all are read by one grammar, so this changes nothing")
	f.StringVar(&o.channel, "channel", "result", "where it stood: "+strings.Join(channels, ", "))
	f.StringVar(&o.at, "at", "", "when it was printed, as 2026-12-01T02:00:00Z (now)")
	f.StringVar(&o.zone, "zone", "", "the zone of whoever printed it, as Europe/Berlin (this machine's)")
	f.BoolVar(&o.rows, "jsonl", false, "read rows from standard input, as JSON with id, harness, channel, text, observed_at and host_tz, and print one line for each")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return c
}

// noticeRow is what is read of a row.
type noticeRow struct {
	ID      string `json:"id"`
	Channel string `json:"channel"`
	Text    string `json:"text"`
	At      string `json:"observed_at"`
	Zone    string `json:"host_tz"`
}

// noticeVerdict is what a row's line says.
type noticeVerdict struct {
	ID       string  `json:"id,omitempty"`
	Class    string  `json:"class"`
	Reset    *string `json:"reset_at"`
	Source   string  `json:"reset_source"`
	Window   string  `json:"window"`
	Terminal bool    `json:"terminal"`
}

// noticeAnswer is what one text's JSON says.
type noticeAnswer struct {
	noticeVerdict
	Cause string `json:"cause"`
	Basis string `json:"basis"`
	Sure  string `json:"reset_certainty"`
	Model string `json:"model"`
	Code  string `json:"code"`
}

func noticeRun(o *noticeOptions, a []string) error {
	if o.rows {
		if len(a) > 0 {
			return usage("--jsonl reads its texts from standard input", "leave TEXT out")
		}
		return noticeRows(o)
	}
	if !slices.Contains(channels, o.channel) {
		return usage(fmt.Sprintf("there is no channel %q", o.channel), "they are "+strings.Join(channels, ", "))
	}
	if len(a) == 0 {
		return usage("there is no text to read", `give it in quotes: paceline notice "You've hit your limit · resets 3pm"`)
	}
	text := strings.Join(a, " ")
	if text == "-" {
		b, err := io.ReadAll(o.in)
		if err != nil {
			return err
		}
		text = string(b)
	}
	at, err := printed(o.at, o.zone, time.Local)
	if err != nil {
		return err
	}
	n := notice.From(o.channel, text, at)
	if o.json {
		return json.NewEncoder(o.out).Encode(answer(n))
	}
	noticePrint(o.out, n, at)
	return nil
}

func noticeRows(o *noticeOptions) error {
	r := bufio.NewReader(o.in)
	enc := json.NewEncoder(o.out)
	for line := 1; ; line++ {
		b, err := r.ReadBytes('\n')
		if b = bytes.TrimSpace(b); len(b) > 0 {
			var row noticeRow
			if err := json.Unmarshal(b, &row); err != nil {
				return usage(fmt.Sprintf("line %d is no row: %v", line, err), "a row is an object with id, channel, text and observed_at")
			}
			at, err := printed(row.At, row.Zone, time.UTC)
			if err != nil {
				return usage(fmt.Sprintf("line %d: %v", line, err), "observed_at is written as 2026-12-01T02:00:00Z, host_tz as Europe/Berlin")
			}
			v := verdict(notice.From(row.Channel, row.Text, at))
			v.ID = row.ID
			if err := enc.Encode(v); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// printed is when, and in which zone, a text was printed.
func printed(at, zone string, home *time.Location) (time.Time, error) {
	t := time.Now()
	if at != "" {
		var err error
		if t, err = time.Parse(time.RFC3339, at); err != nil {
			return t, usage(fmt.Sprintf("%q is no time", at), "write it as 2026-12-01T02:00:00Z")
		}
	}
	if zone != "" {
		l, err := time.LoadLocation(zone)
		if err != nil {
			return t, usage(fmt.Sprintf("there is no zone %q", zone), "write it as Europe/Berlin")
		}
		home = l
	}
	return t.In(home), nil
}

func verdict(n notice.Notice) noticeVerdict {
	v := noticeVerdict{Class: n.Class.String(), Source: n.Origin.String(), Window: n.Window, Terminal: n.Terminal()}
	if v.Window == "" {
		v.Window = "unknown"
	}
	if n.Reset.Known() {
		at := n.Reset.At.UTC()
		if whole := at.Truncate(time.Second); !whole.Equal(at) {
			at = whole.Add(time.Second) // never before it lifts
		}
		text := at.Format(time.RFC3339)
		v.Reset = &text
	}
	return v
}

func answer(n notice.Notice) noticeAnswer {
	return noticeAnswer{
		noticeVerdict: verdict(n), Cause: causeOf(n), Basis: n.Basis.String(),
		Sure: n.Reset.Source.String(), Model: n.Model, Code: n.Code,
	}
}

// causeOf is "" where a text tells of no failed call.
func causeOf(n notice.Notice) string {
	if c := n.Class.Cause(); c != paceline.CauseOther {
		return c.String()
	}
	return ""
}

func noticePrint(w io.Writer, n notice.Notice, at time.Time) {
	switch c := causeOf(n); {
	case n.Class == notice.Warning:
		fmt.Fprintln(w, "a warning; nothing failed")
		return
	case c == "":
		fmt.Fprintln(w, "no notice; as the text of a failed call its cause would be other")
		return
	default:
		fmt.Fprintf(w, "%s, by its %s", c, n.Basis)
	}
	if n.Code != "" {
		fmt.Fprintf(w, " (%s)", n.Code)
	}
	fmt.Fprintln(w)
	switch n.Model {
	case "":
	case "this":
		fmt.Fprintln(w, "of this model alone")
	default:
		fmt.Fprintf(w, "of %s alone\n", n.Model)
	}
	if n.Window != "" {
		fmt.Fprintf(w, "its window is %s\n", n.Window)
	}
	if n.Reset.Known() {
		fmt.Fprintf(w, "lifts at %s, %s from its %s\n", when(n.Reset.At, at), n.Reset.Source, n.Origin)
	} else if n.Class == notice.Limit {
		fmt.Fprintln(w, "does not say when it lifts")
	}
	if n.Going {
		fmt.Fprintln(w, "its program is still trying")
	}
}
