// Package cause reads what a failed call says of itself, where its program has
// no better word for it: an error code, an HTTP status, a short notice. In this
// order: a code that decides, then the notice where codes and statuses are
// shared by several causes, then the status, then the notice alone.
package cause

import (
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline"
)

// Call is a failed call.
type Call struct {
	Code   string // the vendor's own word, "" where there is none
	Status int64  // HTTP; 0 where none was told
	Text   string // its own short notice, or the body that the vendor sent
}

// Read makes a failure of it. at is when the notice was printed; zero where
// nobody knows, and then no time of day in it is resolved.
func Read(c Call, at time.Time) paceline.Failure {
	stated := opened(&c, at)
	f := paceline.Failure{Cause: of(c), Code: c.Code, Notice: c.Text}
	if f.Code == "" && c.Status != 0 {
		f.Code = strconv.FormatInt(c.Status, 10)
	}
	switch f.Cause {
	case paceline.CauseUsageLimit, paceline.CauseThrottle:
		f.Retryable = true
		if f.Reset = stated; !stated.Known() {
			f.Reset = reset(c.Text, at)
		}
	case paceline.CauseServer, paceline.CauseTransport, paceline.CauseAuth:
		f.Retryable = true
	default:
	}
	return f
}

func of(c Call) paceline.Cause {
	if cause, ok := codes[c.Code]; ok {
		return cause
	}
	said := ByText(c.Text)
	if cause, ok := statuses[c.Status]; ok {
		if shared[c.Status] && said != paceline.CauseOther {
			return said
		}
		return cause
	}
	switch {
	case c.Status >= 500 && c.Status < 600:
		return paceline.CauseServer
	case c.Status >= 400 && c.Status < 500 && !shared[c.Status]:
		return paceline.CauseOther
	}
	return said
}

// opened takes the vendor's own body out of a notice that is one, with the time
// that it states.
func opened(c *Call, at time.Time) paceline.Reset {
	text := strings.TrimSpace(c.Text)
	if !strings.HasPrefix(text, "{") || !gjson.Valid(text) {
		return paceline.Reset{}
	}
	e := gjson.Get(text, "error")
	if !e.IsObject() {
		e = gjson.Parse(text)
	}
	if s := e.Get("code"); s.Type == gjson.Number && c.Status == 0 {
		c.Status = s.Int()
	}
	for _, path := range []string{"details.#.reason|0", "code", "type", "status"} {
		if word := e.Get(path); word.Type == gjson.String && word.String() != "" {
			if _, ok := codes[word.String()]; ok || c.Code == "" {
				c.Code = word.String()
				break
			}
		}
	}
	if m := e.Get("message").String(); m != "" {
		c.Text = m
	}
	for _, stamp := range e.Get("details.#.metadata.quotaResetTimeStamp").Array() {
		if t, err := time.Parse(time.RFC3339, stamp.String()); err == nil {
			return paceline.Reset{At: t.UTC(), Source: paceline.ResetStated}
		}
	}
	for _, path := range []string{"details.#.metadata.quotaResetDelay", "details.#.retryDelay"} {
		for _, v := range e.Get(path).Array() {
			if d, err := time.ParseDuration(v.String()); err == nil {
				return After(d, at)
			}
		}
	}
	return paceline.Reset{}
}

// maxDelay is the longest wait that is believed: the longest usage window there
// is, a month, twice.
const maxDelay = 62 * 24 * time.Hour

// After is a stated delay as a time. It is none where nobody knows when it was
// stated.
func After(d time.Duration, at time.Time) paceline.Reset {
	if at.IsZero() || d <= 0 || d > maxDelay {
		return paceline.Reset{}
	}
	return paceline.Reset{At: at.Add(d).UTC(), Source: paceline.ResetDerived}
}
