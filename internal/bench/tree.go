package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"time"
)

// A tree is made as people's are: most of it is what tools printed, a few files
// are long, an answer stands in one to three rows, and a resumed conversation
// begins with the rows of another.

// What the trees come to, in files and bytes.
const (
	claudeFiles, claudeBytes = 2000, 1107 << 20
	codexFiles, codexBytes   = 1000, 526 << 20
)

// prose is text as it stands in JSON, to be cut at any word.
type prose struct {
	b    []byte
	cuts []int
}

func newProse(r *rand.Rand) prose {
	words := []string{
		"func", "return", "err", "nil", "the", "window", "of", "a", "test", "that", "fails", "internal/run/fail.go", "42", "{", "}", "(ctx)", ":=", "==", "//",
		`\n`, `\n\t`, `\n\t\t`, `\"usage\":{`, `\"id\"`, `\\`, "\u00e9t\u00e9", "\u2192", "ok", "github.com/paceline/paceline", "0.004s", "FAIL", "assistant", "tokens",
	}
	var p prose
	for len(p.b) < 4<<20 {
		p.cuts = append(p.cuts, len(p.b))
		p.b = append(p.b, words[r.Intn(len(words))]...)
		p.b = append(p.b, ' ')
	}
	return p
}

// of is about n bytes of it.
func (p prose) of(r *rand.Rand, n int) []byte {
	n = min(n, len(p.b)/2)
	from := r.Intn(len(p.cuts) / 2)
	to := from
	for step := len(p.cuts); step > 0; step /= 2 {
		for to+step < len(p.cuts) && p.cuts[to+step]-p.cuts[from] <= n {
			to += step
		}
	}
	return p.b[p.cuts[from]:p.cuts[to]]
}

// long is a length with the given median, of which one in a hundred is some
// thirty times as long.
func long(r *rand.Rand, median float64) int {
	return int(median * math.Exp(r.NormFloat64()*1.5))
}

// tree writes files until they come to so many bytes. A few are large: the
// sizes of the rest follow from that.
func tree(files, bytes int, write func(i, size int) (int, error)) error {
	r := rand.New(rand.NewSource(1))
	shares := make([]float64, files)
	var sum float64
	for i := range shares {
		shares[i] = math.Exp(r.NormFloat64() * 1.3)
		sum += shares[i]
	}
	for i, s := range shares {
		if _, err := write(i, int(s/sum*float64(bytes))); err != nil {
			return err
		}
	}
	return nil
}

// claudeTree makes ~/.claude/projects.
func claudeTree(root string) error {
	r := rand.New(rand.NewSource(2))
	p := newProse(r)
	models := []string{"claude-opus-4-6", "claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5-20251001"}
	id := 0
	var before [][]byte // rows of the file before
	return tree(claudeFiles, claudeBytes, func(i, size int) (int, error) {
		session := fmt.Sprintf("%08x-6f3c-4a52-9d1e-%012x", r.Uint32(), i)
		f, err := newFile(filepath.Join(root, fmt.Sprintf("-home-user-project-%02d", i%40), session+".jsonl"))
		if err != nil {
			return 0, err
		}
		at := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(r.Intn(90*24*60)) * time.Minute)
		if r.Intn(20) == 0 {
			for _, row := range before {
				_, _ = f.Write(row) // the buffer keeps its first error until the end
			}
		}
		var rows [][]byte
		row := func(format string, args ...any) {
			b := fmt.Appendf(nil, format+"\n", args...)
			if len(rows) < 60 {
				rows = append(rows, b)
			}
			_, _ = f.Write(b)
		}
		head := func(kind string) string {
			at = at.Add(time.Duration(r.Intn(9000)) * time.Millisecond)
			return fmt.Sprintf(`{"parentUuid":"%08x-0000-4000-8000-%012x","isSidechain":false,"userType":"external","cwd":"/home/user/project","sessionId":"%s","version":"2.1.328","gitBranch":"main","type":"%s"`,
				r.Uint32(), id, session, kind)
		}
		foot := func() string {
			return fmt.Sprintf(`"uuid":"%08x-0000-4000-8000-%012x","timestamp":"%s"}`, r.Uint32(), id, at.Format("2006-01-02T15:04:05.000Z"))
		}
		row(`%s,"message":{"role":"user","content":"%s"},%s`, head("user"), p.of(r, 300), foot())
		for f.n < size {
			id++
			model := models[r.Intn(len(models))]
			in, out, write, read := r.Intn(20), 1+long(r, 200), long(r, 900), 15000+r.Intn(90000)
			n := 1 + r.Intn(3)
			for k := range n {
				content := fmt.Sprintf(`{"type":"text","text":"%s"}`, p.of(r, long(r, 700)))
				if k == n-1 {
					content = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%024d","name":"Bash","input":{"command":"%s","description":"%s"}}`, id, p.of(r, long(r, 120)), p.of(r, 40))
				}
				told := out
				if k < n-1 {
					told = 1 + out/4 // it is not at its end yet
				}
				row(`%s,"message":{"model":"%s","id":"msg_%024d","type":"message","role":"assistant","content":[%s],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":%d},"output_tokens":%d,"service_tier":"standard"}},"requestId":"req_%024d",%s`,
					head("assistant"), model, id, content, in, write, read, write, told, id, foot())
			}
			result := p.of(r, long(r, 1500))
			row(`%s,"message":{"role":"user","content":[{"tool_use_id":"toolu_%024d","type":"tool_result","content":"%s","is_error":false}]},"toolUseResult":{"stdout":"%s","stderr":"","interrupted":false},%s`,
				head("user"), id, result, result, foot())
			for range r.Intn(4) {
				row(`%s,"attachment":{"type":"hook_success","content":"%s"},%s`, head("attachment"), p.of(r, long(r, 1300)), foot())
			}
		}
		before = rows
		return f.n, f.end()
	})
}

// codexTree makes ~/.codex/sessions.
func codexTree(root string) error {
	r := rand.New(rand.NewSource(3))
	p := newProse(r)
	type told struct{ total, last string }
	var before []told
	var parent string
	return tree(codexFiles, codexBytes, func(i, size int) (int, error) {
		at := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(i) * 2 * time.Hour)
		id := fmt.Sprintf("01a22fae-%04x-7110-a79c-%012x", i, r.Uint32())
		f, err := newFile(filepath.Join(root, at.Format("2006/01/02"), "rollout-"+at.Format("2006-01-02T15-04-05")+"-"+id+".jsonl"))
		if err != nil {
			return 0, err
		}
		n := 0
		row := func(kind, format string, args ...any) {
			fmt.Fprintf(f, `{"timestamp":"%s","ordinal":%d,"type":"%s","payload":`, at.Format("2006-01-02T15:04:05.000Z"), n, kind)
			fmt.Fprintf(f, format, args...)
			fmt.Fprint(f, "}\n")
			n++
		}
		count := func(t told) {
			row("event_msg", `{"type":"token_count","info":{"total_token_usage":%s,"last_token_usage":%s,"model_context_window":258400},"rate_limits":{"limit_id":"codex","primary":{"used_percent":%d.5,"window_minutes":300,"resets_at":%d},"secondary":{"used_percent":12.0,"window_minutes":10080,"resets_at":%d},"credits":null,"rate_limit_reached_type":null}}`,
				t.total, t.last, r.Intn(99), at.Unix()+9000, at.Unix()+400000)
		}
		fork := ""
		if parent != "" && r.Intn(20) == 0 {
			fork = fmt.Sprintf(`,"forked_from_id":"%s"`, parent)
		}
		row("session_meta", `{"id":"%s","timestamp":"%s"%s,"cwd":"/home/user/project","originator":"codex_exec","cli_version":"0.169.0","source":"exec","base_instructions":{"text":"%s"}}`,
			id, at.Format("2006-01-02T15:04:05.000Z"), fork, p.of(r, 12000))
		context := func() {
			row("turn_context", `{"turn_id":"%d","cwd":"/home/user/project","approval_policy":"never","model":"gpt-5.6-sol","collaboration_mode":{"mode":"default","settings":{"model":"gpt-5.6-sol"}}}`, n)
		}
		context()
		if fork != "" {
			for _, t := range before {
				count(t)
			}
		}
		var all []told
		var in, cached, out int
		for turn := 0; f.n < size; turn++ {
			at = at.Add(time.Duration(2000+r.Intn(9000)) * time.Millisecond)
			if turn%12 == 11 {
				context()
				row("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"%s"}]}`, p.of(r, 400))
			}
			row("response_item", `{"type":"reasoning","summary":[{"type":"summary_text","text":"%s"}],"encrypted_content":"%s"}`, p.of(r, 200), p.of(r, long(r, 900)))
			row("response_item", `{"type":"function_call","name":"shell","arguments":"%s","call_id":"call_%d"}`, p.of(r, long(r, 150)), n)
			row("response_item", `{"type":"function_call_output","call_id":"call_%d","output":"%s"}`, n, p.of(r, long(r, 3500)))
			i, c, o := 9000+r.Intn(60000), r.Intn(9000), 1+long(r, 150)
			in, cached, out = in+i, cached+c, out+o
			usage := func(i, c, o int) string {
				return fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":%d,"cache_write_input_tokens":0,"output_tokens":%d,"reasoning_output_tokens":%d,"total_tokens":%d}`, i, c, o, o/3, i+o)
			}
			t := told{usage(in, cached, out), usage(i, c, o)}
			all = append(all, t)
			count(t)
			if r.Intn(4) == 0 { // the limits are told anew
				at = at.Add(300 * time.Millisecond)
				count(t)
			}
		}
		before, parent = all, id
		return f.n, f.end()
	})
}

// file counts what is written, and says at its end whether it was.
type file struct {
	w *bufio.Writer
	f *os.File
	n int
}

func newFile(path string) (*file, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &file{w: bufio.NewWriterSize(f, 1<<16), f: f}, nil
}

func (f *file) Write(b []byte) (int, error) {
	f.n += len(b)
	return f.w.Write(b)
}

func (f *file) end() error {
	if err := f.w.Flush(); err != nil {
		return err
	}
	return f.f.Close()
}
