// Package replay reads recorded native streams again, as the running product
// would have read them.
package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/wire"
)

// Row is how one turn of the root conversation was read. Its keys are kept.
type Row struct {
	File        string   `json:"file"`
	Turn        int      `json:"turn"`
	Outcome     string   `json:"outcome"`
	Cause       string   `json:"cause"` // "" when completed
	Code        string   `json:"code"`
	Work        string   `json:"work"`
	ResetAt     string   `json:"reset_at"` // RFC 3339, UTC; "" where nobody said
	ResetSource string   `json:"reset_source"`
	Scope       string   `json:"scope"`
	Retryable   bool     `json:"retryable"`
	Evidence    []string `json:"evidence"`
}

// Files lists the recordings that paths name: a file is itself, a folder holds
// its stdout, stdout*.jsonl, transcript*.jsonl and rpc.jsonl, sorted. A transcript that is not a
// native stream (Claude's own files on disk) is left out.
func Files(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			out = append(out, p)
			continue
		}
		err = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if recording(path) {
				out = append(out, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func recording(path string) bool {
	name := filepath.Base(path)
	if name == "stdout" {
		return true
	}
	if !strings.HasSuffix(name, ".jsonl") {
		return false
	}
	if strings.HasPrefix(name, "stdout") || name == "rpc.jsonl" {
		return true
	}
	if !strings.HasPrefix(name, "transcript") {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	line, _ := wire.ReadLine(bufio.NewReaderSize(f, 64<<10))
	return gjson.GetBytes(line, "dir").Exists()
}

// File reads one recording. Where it kept a clock, that one is used; a notice
// without a date in a recording without a clock has no reset.
func File(harness, path string) ([]Row, error) {
	var rows []Row
	last := paceline.WorkNone
	err := Each(harness, path, func(e wire.Event) {
		switch e.Kind {
		case wire.Worked:
			last = paceline.WorkSome
			if e.Evidence.Means == "unknown" {
				last = paceline.WorkUnknown
			}
		case wire.Ended:
			rows = append(rows, row(path, *e.Ending))
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		rows = append(rows, row(path, wire.Ending{Turn: 1, Failure: paceline.Failure{Work: last}}))
	}
	return rows, nil
}

// Each hands over what the recorded stream says, one event after the other.
func Each(harness, path string, take func(wire.Event)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	var r reader
	at := noClock(harness)
	tell := func(events []wire.Event) {
		for _, e := range events {
			take(e)
		}
	}
	open := func(first []byte) error {
		if r = newReader(harness, first); r == nil {
			return fmt.Errorf("no reader for %q", harness)
		}
		return beside(r, path, at, tell)
	}
	for {
		line, err := nextLine(in)
		if len(bytes.TrimSpace(line)) > 0 {
			raw, dir, when := unwrap(line)
			if r == nil {
				if err := open(raw); err != nil {
					return err
				}
			}
			if !when.IsZero() {
				at = when
			}
			feed(r, raw, dir, at, tell)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	if r == nil {
		if err := open(nil); err != nil {
			return err
		}
	}
	if e, ok := r.(interface{ Exit(code int) []wire.Event }); ok {
		if code, known := exitBeside(path); known {
			tell(e.Exit(code))
		}
	}
	tell(r.Close())
	return nil
}

// noClock is the moment of a line whose recording kept none. Claude's and
// Codex's readers count from the epoch; the others resolve nothing then.
func noClock(harness string) time.Time {
	if harness == "claude" || harness == "codex" {
		return time.Unix(0, 0).UTC()
	}
	return time.Time{}
}

// feed gives a line to the reader, by its direction.
func feed(r reader, raw []byte, dir string, at time.Time, take func([]wire.Event)) {
	switch dir {
	case "send", "c>a":
		if s, ok := r.(interface{ Sent(line []byte) }); ok {
			s.Sent(raw)
		}
	case "exit", "note": // the recorder's own remarks
	default:
		take(r.Observe(raw, at))
	}
}

// nextLine is a line, or the whole of a stream that is one object over several
// lines.
func nextLine(in *bufio.Reader) ([]byte, error) {
	line, err := wire.ReadLine(in)
	if string(bytes.TrimSpace(line)) != "{" {
		return line, err
	}
	all, err := io.ReadAll(io.LimitReader(in, wire.MaxLine))
	if err == nil {
		err = io.EOF
	}
	return []byte(gjson.ParseBytes(append([]byte("{"), all...)).Get("@ugly").Raw), err
}

// unwrap takes a native line out of a recording's row.
func unwrap(line []byte) (raw []byte, dir string, at time.Time) {
	if !bytes.Contains(line, []byte(`"dir"`)) && !bytes.Contains(line, []byte(`"line"`)) { // nearly all are bare
		return line, "recv", stamped(gjson.GetBytes(line, "timestamp"))
	}
	f := gjson.GetManyBytes(line, "dir", "msg", "line", "at", "t", "timestamp")
	if f[3].Exists() {
		at, _ = time.Parse(time.RFC3339, f[3].String())
	}
	switch {
	case f[0].Exists() && f[1].Exists():
		return content(f[1]), f[0].String(), at
	case f[2].Exists() && f[4].Exists():
		return content(f[2]), "recv", at
	}
	if t := stamped(f[5]); !t.IsZero() {
		at = t
	}
	return line, "recv", at
}

// stamped is the time that a native line has of its own.
func stamped(v gjson.Result) (at time.Time) {
	switch v.Type {
	case gjson.Number:
		at = time.UnixMilli(v.Int()).UTC()
	case gjson.String:
		at, _ = time.Parse(time.RFC3339, v.String())
	default:
	}
	return at
}

// content is a recorded line: kept as JSON, or as a string where it was none.
func content(v gjson.Result) []byte {
	if v.Type == gjson.String {
		return []byte(v.String())
	}
	return []byte(v.Raw)
}

func row(path string, e wire.Ending) Row {
	f := e.Failure
	r := Row{
		File: path, Turn: e.Turn, Outcome: e.Outcome.String(), Code: f.Code, Work: f.Work.String(),
		Scope: f.Scope, Retryable: f.Retryable, Evidence: []string{},
	}
	if f.Cause != paceline.CauseUnknown {
		r.Cause = f.Cause.String()
	}
	if f.Reset.Known() {
		r.ResetAt, r.ResetSource = f.Reset.At.UTC().Format(time.RFC3339), f.Reset.Source.String()
	}
	for _, v := range f.Evidence {
		text := v.Frame
		if v.Says != "" {
			text += " " + v.Says
		}
		if v.Line > 0 {
			text = fmt.Sprintf("%d: %s", v.Line, text)
		}
		if v.Means != "" {
			text += " = " + v.Means
		}
		r.Evidence = append(r.Evidence, text)
	}
	return r
}
