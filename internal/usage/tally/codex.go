package tally

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/paceline/paceline/internal/quota"
)

// Rollout is what a Codex conversation's file told so far. Its rows count up,
// so that what one of them says depends on those before it.
type Rollout struct {
	ID     string // of the conversation
	Parent string // of the one that this one was forked from; "" where it was not
	Forked int64  // when, in milliseconds; 0 where that was not told
	Model  string // that answers at present
	Events []Event
	// Early are the times of the first two rows that told of a cost, at all: a
	// fork's copied rows come in one burst.
	Early []int64
	// Limits is the newest reading of each window.
	Limits []quota.Reading

	begun   bool  // whether its first line was read
	before  spent // what the conversation had cost in all
	counted bool  // whether that is known
}

// Clone is a rollout that goes on by itself.
func (r *Rollout) Clone() *Rollout {
	c := *r
	c.Events = slices.Clip(r.Events)
	c.Early = slices.Clip(r.Early)
	c.Limits = slices.Clone(r.Limits)
	return &c
}

// Event is what one row says an answer cost.
type Event struct {
	At    int64 // milliseconds
	Model string
	Cost  Tokens
}

// spent is a cost as a row tells it: Input with what was read from caches or
// written to them.
type spent struct{ in, read, write, out, reason, total uint64 }

// CodexMark is in every row but the first that is looked at; CodexMarked says
// whether b, which begins with it, is in one.
var CodexMark = []byte(`"type":"t`)

// CodexMarked reports whether b, which begins with the mark, is of a row that
// counts.
func CodexMarked(b []byte) bool {
	b = b[len(CodexMark):]
	return bytes.HasPrefix(b, []byte(`oken_count"`)) || bytes.HasPrefix(b, []byte(`urn_context"`))
}

// Begin is given the file's lines before any of them is read, and looks at the
// very first: it alone says whose conversation this is.
func (r *Rollout) Begin(lines []byte) {
	if r.begun {
		return
	}
	r.begun = true
	row, _, _ := bytes.Cut(lines, []byte("\n"))
	c := cursor{b: row}
	var kind []byte
	var at stamp
	var id, fork, spawn string
	for m := c.enter('{', '}'); m; m = c.more('}') {
		switch string(c.key()) {
		case "type":
			kind, _ = c.text()
		case "timestamp":
			at = c.stamp()
		case "payload":
			c.object(func(k string) {
				switch k {
				case "id":
					id = c.maybe()
				case "forked_from_id":
					fork = c.maybe()
				case "source":
					c.object(func(k string) {
						if k != "subagent" {
							c.skip()
							return
						}
						c.object(func(k string) {
							if k != "thread_spawn" {
								c.skip()
								return
							}
							c.object(func(k string) {
								if k != "parent_thread_id" {
									c.skip()
									return
								}
								spawn = c.maybe()
							})
						})
					})
				default:
					c.skip()
				}
			})
		default:
			c.skip()
		}
	}
	if !c.end() || string(kind) != "session_meta" {
		return
	}
	r.ID, r.Parent = id, fork
	if fork == "" {
		r.Parent = spawn
	}
	if at.ok {
		r.Forked = at.ms
	}
}

// object visits the members of an object; any other value is passed over.
func (c *cursor) object(member func(key string)) {
	if c.space() != '{' {
		c.skip()
		return
	}
	for m := c.enter('{', '}'); m; m = c.more('}') {
		member(string(c.key()))
	}
}

// maybe reads a text; any other value is passed over.
func (c *cursor) maybe() string {
	if c.space() != '"' {
		c.skip()
		return ""
	}
	b, _ := c.text()
	return string(bytes.TrimSpace(b))
}

// stamp is a row's time.
type stamp struct {
	ms int64
	ok bool
}

func (c *cursor) stamp() (s stamp) {
	switch b := c.space(); {
	case b == '"':
		t, _ := c.text()
		s.ms, s.ok = moment(t)
	case digit(b):
		t, _ := c.number()
		n, ok := count(t)
		s.ms, s.ok = int64(n), ok && n < 1<<53
		if s.ms < 1e11 { // seconds, until the year 5138
			s.ms *= 1000
		}
	default:
		c.skip()
	}
	return s
}

// named is a model as a row, or a part of it, names it.
type named struct {
	model, name, meta string
	bad               bool
}

// member reads a name, and reports whether k was one.
func (n *named) member(c *cursor, k string) bool {
	switch k {
	case "model":
		n.bad = n.bad || c.space() != '"' && c.space() != 'n'
		n.model = c.maybe()
	case "model_name":
		n.name = c.maybe()
	case "metadata":
		c.object(func(k string) {
			if k != "model" {
				c.skip()
				return
			}
			n.meta = c.maybe()
		})
	default:
		return false
	}
	return true
}

func (n *named) first() string {
	switch {
	case n.model != "":
		return n.model
	case n.name != "":
		return n.name
	}
	return n.meta
}

// row is what a marked row holds.
type row struct {
	kind, event []byte
	at          stamp
	model, told named
	total, last spent
	hasInfo     bool
	hasTotal    bool
	hasLast     bool
	limits      []byte
	twice       bool
}

// Row reads a marked row.
func (r *Rollout) Row(line []byte, names Names) {
	c := cursor{b: line}
	var w row
	var seen seenOnce
	for m := c.enter('{', '}'); m; m = c.more('}') {
		switch k := string(c.key()); k {
		case "type":
			w.twice = w.twice || seen.again(k)
			w.kind, _ = c.text()
		case "timestamp":
			w.twice = w.twice || seen.again(k)
			w.at = c.stamp()
		case "payload":
			w.twice = w.twice || seen.again(k)
			c.payload(&w)
		default:
			c.skip()
		}
	}
	if !c.end() || w.twice {
		return
	}
	switch {
	case string(w.kind) == "turn_context":
		if m := w.model.first(); m != "" {
			r.Model = names.of([]byte(m))
		}
	case string(w.kind) == "event_msg" && string(w.event) == "token_count" && !w.model.bad && !w.told.bad:
		r.tokens(&w, names)
	}
}

// seenOnce finds a name that stands twice.
type seenOnce struct {
	names [8]string
	n     int
}

func (s *seenOnce) again(name string) bool {
	for _, k := range s.names[:s.n] {
		if k == name {
			return true
		}
	}
	if s.n < len(s.names) {
		s.names[s.n] = name
		s.n++
	}
	return false
}

func (c *cursor) payload(w *row) {
	var seen seenOnce
	c.object(func(k string) {
		switch k {
		case "type":
			w.twice = w.twice || seen.again(k)
			if c.space() != '"' {
				c.skip()
				return
			}
			w.event, _ = c.text()
		case "info":
			w.twice = w.twice || seen.again(k)
			w.hasInfo = c.space() == '{'
			c.info(w)
		case "rate_limits":
			c.space()
			from := c.i
			c.skip()
			w.limits = c.b[from:c.i]
		default:
			if !w.model.member(c, k) {
				c.skip()
			}
		}
	})
}

func (c *cursor) info(w *row) {
	var seen seenOnce
	c.object(func(k string) {
		switch k {
		case "total_token_usage":
			w.twice = w.twice || seen.again(k)
			w.hasTotal = c.space() == '{'
			w.total = c.spent()
		case "last_token_usage":
			w.twice = w.twice || seen.again(k)
			w.hasLast = c.space() == '{'
			w.last = c.spent()
		default:
			if !w.told.member(c, k) {
				c.skip()
			}
		}
	})
}

func (c *cursor) spent() (s spent) {
	c.object(func(k string) {
		switch k {
		case "input_tokens", "prompt_tokens", "input":
			s.in = c.tokens()
		case "cached_input_tokens", "cache_read_input_tokens", "cached_tokens":
			s.read = c.tokens()
		case "cache_write_input_tokens":
			s.write = c.tokens()
		case "output_tokens", "completion_tokens", "output":
			s.out = c.tokens()
		case "reasoning_output_tokens", "reasoning_tokens":
			s.reason = c.tokens()
		case "total_tokens":
			s.total = c.tokens()
		default:
			c.skip()
		}
	})
	if s.total == 0 {
		s.total = s.in + s.out
	}
	return s
}

// tokens is a number, however it is written; 0 where it is none.
func (c *cursor) tokens() uint64 {
	var n uint64
	switch b := c.space(); {
	case b == '"':
		t, _ := c.text()
		n, _ = count(t)
	case digit(b) || b == '-':
		t, _ := c.number()
		var ok bool
		if n, ok = count(t); !ok {
			n = 0
		}
	default:
		c.skip()
	}
	return n
}

// tokens takes a row that tells of a cost. The last answer's stands, unless the
// whole has not moved since the row before: such a row is written when a limit
// is told anew, and costs nothing.
func (r *Rollout) tokens(w *row, names Names) {
	if w.at.ok && len(w.limits) > 0 {
		r.limits(w.limits, w.at.ms)
	}
	if !w.hasInfo || !w.hasTotal && !w.hasLast || !w.at.ok {
		return
	}
	if m := w.model.first(); m != "" {
		r.Model = names.of([]byte(m))
	} else if m := w.told.first(); m != "" {
		r.Model = names.of([]byte(m))
	}
	if len(r.Early) < 2 {
		r.Early = append(r.Early, w.at.ms)
	}
	cost := w.last
	moved := !w.hasTotal || !r.counted || w.total != r.before
	if !w.hasLast || !moved {
		cost = w.total.since(r.before)
	}
	if w.hasTotal {
		r.before, r.counted = w.total, true
	}
	if t := cost.tokens(); t.Input|t.CacheRead|t.CacheWrite|t.Output|t.Reasoning != 0 {
		r.Events = append(r.Events, Event{At: w.at.ms, Model: r.model(w.at.ms), Cost: t})
	}
}

// since is what s is more than b, part by part.
func (s spent) since(b spent) spent {
	less := func(x, y uint64) uint64 { return max(x, y) - y }
	return spent{less(s.in, b.in), less(s.read, b.read), less(s.write, b.write), less(s.out, b.out), less(s.reason, b.reason), less(s.total, b.total)}
}

// tokens takes apart what Input holds together.
func (s spent) tokens() Tokens {
	read := min(s.read, s.in)
	write := min(s.write, s.in-read)
	return Tokens{Input: s.in - read - write, CacheRead: read, CacheWrite: write, Output: s.out, Reasoning: s.reason, Total: s.total}
}

// model is who is billed for an answer: "gpt-5" where no row said.
func (r *Rollout) model(ms int64) string {
	switch r.Model {
	case "":
		return "gpt-5"
	case "codex-auto-review":
		return reviewer(ms)
	}
	return r.Model
}

// reviewers are the models that stood behind "codex-auto-review", and since
// when.
var reviewers = []struct {
	since int64
	model string
}{
	{date(2026, 7, 30), "gpt-5.6-luna"},
	{date(2026, 3, 5), "gpt-5.4"},
	{date(2026, 2, 5), "gpt-5.3-codex"},
	{date(2025, 12, 11), "gpt-5.2-codex"},
	{date(2025, 11, 13), "gpt-5.1-codex"},
	{date(2025, 9, 15), "gpt-5-codex"},
}

func date(y int, m time.Month, d int) int64 {
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).UnixMilli()
}

func reviewer(ms int64) string {
	for _, r := range reviewers {
		if ms >= r.since {
			return r.model
		}
	}
	return "gpt-5"
}

// limits takes the windows of a row.
func (r *Rollout) limits(b []byte, ms int64) {
	c := cursor{b: b}
	observed := time.UnixMilli(ms).UTC()
	var limit string
	var reached bool
	var found []quota.Reading
	c.object(func(k string) {
		switch k {
		case "limit_id":
			limit = c.maybe()
		case "rate_limit_reached_type":
			reached = c.space() == '"'
			c.skip()
		case "primary", "secondary":
			if c.space() != '{' {
				c.skip()
				return
			}
			w := quota.Reading{Window: quota.Window{Name: k}, Observed: observed, Source: quota.SourceRollout}
			if c.window(&w) {
				found = append(found, w)
			}
		default:
			c.skip()
		}
	})
	if c.bad {
		return
	}
	for i := range found {
		found[i].Limit = limit
		found[i].Reached = found[i].Used >= 100 || reached && len(found) == 1
	}
	r.Limits = quota.Newest(append(r.Limits, found...))
}

// window reads one, and reports whether it tells how much was used.
func (c *cursor) window(w *quota.Reading) (told bool) {
	c.object(func(k string) {
		n, ok := c.float()
		switch {
		case !ok:
		case k == "used_percent":
			w.Used, told = n, true
		case k == "window_minutes" && n > 0 && n < 1e7:
			w.Length = time.Duration(n) * time.Minute
		case k == "resets_at" && n > 0 && n < 1e11:
			w.Resets = time.Unix(int64(n), 0).UTC()
		case k == "resets_in_seconds" && n >= 0 && n < 1e9 && w.Resets.IsZero():
			w.Resets = w.Observed.Add(time.Duration(n) * time.Second)
		}
	})
	return told
}

func (c *cursor) float() (float64, bool) {
	if b := c.space(); b != '-' && !digit(b) {
		c.skip()
		return 0, false
	}
	t, ok := c.number()
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(t), 64)
	return n, err == nil
}
