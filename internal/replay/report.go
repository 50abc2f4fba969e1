package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline/internal/wire"
)

// Report writes a recording as a bug report that can be shown to strangers: how
// it was read, then its lines without what is its user's.
func Report(w io.Writer, harness, path, version string) error {
	rows, err := File(harness, path)
	if err != nil {
		return err
	}
	r := &redactor{ids: map[string]string{}}
	lines := func(do func(line []byte)) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in := bufio.NewReaderSize(f, 64<<10)
		for {
			line, err := nextLine(in)
			if line = bytes.TrimSpace(line); len(line) > 0 {
				do(line)
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
		}
	}
	// Twice: a notice may repeat what is only told later.
	if err := lines(func(line []byte) { r.quotes(gjson.ParseBytes(line), false, false) }); err != nil {
		return err
	}
	r.settle()
	fmt.Fprintf(w, "# A recording of %s, read by paceline %s\n\n## Read as\n", harness, version)
	for _, row := range rows {
		row.File = "" // its folders are its user's
		for i, e := range row.Evidence {
			row.Evidence[i] = r.scrub(e)
		}
		row.Code = r.scrub(row.Code)
		b, err := json.Marshal(row)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", b)
	}
	fmt.Fprint(w, "\n## Lines\n")
	if err := lines(func(line []byte) { fmt.Fprintln(w, r.line(line)) }); err != nil {
		return err
	}
	if code, known := exitBeside(path); known {
		fmt.Fprintf(w, "\n## Exit code\n%d\n", code)
	}
	fmt.Fprint(w, "\n## Standard error\n")
	return eachLine(sibling(path, "stderr"), func(line []byte) {
		if text := strings.TrimSpace(string(line)); text != "" {
			fmt.Fprintln(w, r.errLine(text))
		}
	})
}

// notices are how the programs begin a line in which they tell of a failure.
// Every other line of a standard error may be anybody's words.
var notices = []string{"AGY_ERROR:", "Error:", "error:", "warning: conversation", "[agy] print timeout", "Attempt ", "terminating ", "No API key"}

func (r *redactor) errLine(text string) string {
	if _, said, ok := strings.Cut(text, " level=ERROR "); ok {
		return "level=ERROR " + r.scrub(" " + said[:min(len(said), wire.MaxDetail)])[1:]
	}
	for _, head := range notices {
		rest, ok := strings.CutPrefix(text, head)
		if !ok {
			continue
		}
		if body := strings.TrimSpace(rest); head == "AGY_ERROR:" && gjson.Valid(body) {
			var b strings.Builder
			r.value(&b, gjson.Parse(body), "error", true)
			return head + " " + b.String()
		}
		return r.scrub(text[:min(len(text), wire.MaxDetail)])
	}
	return fmt.Sprintf("[line: %d bytes]", len(text))
}
