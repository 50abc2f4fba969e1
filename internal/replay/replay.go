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
	"github.com/paceline/paceline/internal/wire/claude"
	"github.com/paceline/paceline/internal/wire/codex"
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
// its stdout*.jsonl and transcript*.jsonl, sorted. A transcript that is not a
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

// reader is what both vendors' readers are.
type reader interface {
	Observe(line []byte, at time.Time) []wire.Event
	Close() []wire.Event
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
	var sent func([]byte)
	at := time.Unix(0, 0).UTC()
	tell := func(events []wire.Event) {
		for _, e := range events {
			take(e)
		}
	}
	for {
		line, err := wire.ReadLine(in)
		if len(bytes.TrimSpace(line)) > 0 {
			raw, dir, when := unwrap(line)
			if r == nil {
				switch harness {
				case "claude":
					r = claude.New()
				case "codex":
					c := codex.New(form(raw))
					r, sent = c, c.Sent
				default:
					return fmt.Errorf("no reader for %q", harness)
				}
			}
			if !when.IsZero() {
				at = when
			}
			if dir == "send" {
				if sent != nil {
					sent(raw)
				}
			} else {
				tell(r.Observe(raw, at))
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	if r != nil {
		tell(r.Close())
	}
	return nil
}

// unwrap takes a native line out of a recording's row.
func unwrap(line []byte) (raw []byte, dir string, at time.Time) {
	f := gjson.GetManyBytes(line, "dir", "msg", "line", "at", "t")
	if f[3].Exists() {
		at, _ = time.Parse(time.RFC3339, f[3].String())
	}
	switch {
	case f[0].Exists() && f[1].Exists():
		return content(f[1]), f[0].String(), at
	case f[2].Exists() && f[4].Exists():
		return content(f[2]), "recv", at
	}
	return line, "recv", time.Time{}
}

// content is a recorded line: kept as JSON, or as a string where it was none.
func content(v gjson.Result) []byte {
	if v.Type == gjson.String {
		return []byte(v.String())
	}
	return []byte(v.Raw)
}

// form tells Codex's two streams apart by their first line.
func form(first []byte) codex.Form {
	if gjson.GetBytes(first, "type").Exists() && !gjson.GetBytes(first, "method").Exists() {
		return codex.Exec
	}
	return codex.AppServer
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
