package replay

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline/internal/wire"
	"github.com/paceline/paceline/internal/wire/acp"
	"github.com/paceline/paceline/internal/wire/agy"
	"github.com/paceline/paceline/internal/wire/claude"
	"github.com/paceline/paceline/internal/wire/codex"
	"github.com/paceline/paceline/internal/wire/exec"
)

// reader is what all vendors' readers are. Some are told more: what was sent,
// the standard error, a log, the exit code.
type reader interface {
	Observe(line []byte, at time.Time) []wire.Event
	Close() []wire.Event
}

// programs are those whose only output is read, besides Claude's and Codex's.
var programs = []string{"gemini", "opencode", "qwen", "copilot", "grok", "kimi", "pi"}

// agents are those that speak ACP. "acp" is any.
var agents = []string{
	"acp", "claude-agent-acp", "codex-acp", "gemini-acp", "opencode-acp", "qwen-acp", "copilot-acp", "grok-acp", "kimi-acp",
}

// Harnesses names every harness whose stream is read.
func Harnesses() []string {
	return slices.Concat([]string{"claude", "codex", "agy"}, programs, agents)
}

// newReader is the reader for a harness's stream, whose first line is given; nil
// where there is none.
func newReader(harness string, first []byte) reader {
	switch {
	case harness == "claude":
		return claude.New()
	case harness == "codex":
		return codex.New(form(first))
	case harness == "agy":
		return agy.New()
	case slices.Contains(programs, harness):
		return exec.New(harness)
	case slices.Contains(agents, harness):
		return acp.New(harness)
	}
	return nil
}

// form tells Codex's two streams apart by their first line.
func form(first []byte) codex.Form {
	if gjson.GetBytes(first, "type").Exists() && !gjson.GetBytes(first, "method").Exists() {
		return codex.Exec
	}
	return codex.AppServer
}

// beside tells the reader what was recorded beside its standard output: the
// standard error and the log. They are told first, because a reader must know of
// them when the turn ends, and nothing tells in which order they came.
func beside(r reader, path string, at time.Time, take func([]wire.Event)) error {
	if e, ok := r.(interface {
		Stderr(line []byte, at time.Time) []wire.Event
	}); ok {
		err := eachLine(sibling(path, "stderr"), func(line []byte) { take(e.Stderr(line, at)) })
		if err != nil {
			return err
		}
	}
	if l, ok := r.(interface {
		Log(line []byte, at time.Time)
	}); ok {
		return eachLine(sibling(path, "log"), func(line []byte) { l.Log(line, at) })
	}
	return nil
}

// sibling is the file of that kind which was recorded with a standard output, ""
// where the recording is no such thing.
func sibling(path, kind string) string {
	name := filepath.Base(path)
	if !strings.HasPrefix(name, "stdout") {
		return ""
	}
	return filepath.Join(filepath.Dir(path), kind)
}

func eachLine(path string, do func([]byte)) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := wire.ReadLine(in)
		do(line)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// exitBeside is the recorded exit code.
func exitBeside(path string) (int, bool) {
	b, err := os.ReadFile(sibling(path, "exit"))
	if err != nil {
		return 0, false
	}
	code, err := strconv.Atoi(strings.TrimSpace(string(b)))
	return code, err == nil
}
