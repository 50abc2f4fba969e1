package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/paceline/paceline/internal/supervisor"
)

// printer shows a run as it happens. For people the answer goes to stdout and
// what is said about it to stderr, so that a pipe holds the answer alone. For
// scripts every event is one line of JSON.
type printer struct {
	*streams
	json   bool
	people bool // stderr is a terminal: tools are shown too

	mu   sync.Mutex
	line bool          // stdout stands in the middle of a line
	tty  *bufio.Reader // nil where nobody can be asked
	stop chan struct{} // ends the countdown; nil where none runs
}

func newPrinter(s *streams, asJSON bool) *printer {
	p := &printer{streams: s, json: asJSON, people: terminal(s.err)}
	if terminal(s.in) && terminal(s.err) && !asJSON {
		p.tty = bufio.NewReader(s.in)
	}
	return p
}

func (p *printer) feed(e supervisor.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
	if p.json {
		e.At = e.At.UTC()
		_ = json.NewEncoder(p.out).Encode(e) // a closed pipe does not stop the work
		return
	}
	switch e.Event {
	case "text":
		p.text(e.Text)
	case "started":
		if e.Participant != "" {
			p.say("@%s, on %s:", e.Participant, e.Engine)
		}
	case "tool":
		if p.people {
			p.say("· %s", e.Tool)
		}
	case "file":
		if p.people {
			p.say("· wrote %s", e.Path)
		}
	case "announcement":
		p.say("%s", e.Text)
	case "waiting":
		if e.Until != nil {
			p.wait(*e.Until)
		}
	case "retrying":
		if p.people {
			p.say("It retries by itself (%s).", e.Cause)
		}
	case "failed":
		if e.Text != "" && p.people {
			p.say("· it said: %s", e.Text)
		}
	case "finished":
		if e.Status != "answered" {
			p.say("%s", said(e))
			if e.ResetAt != nil {
				p.say("  It lifts %s, %s.", when(*e.ResetAt, e.At), e.Source)
			}
			if e.Hint != "" {
				p.say("  %s", e.Hint)
			}
			p.say("  `paceline why %s` shows how that was decided.", e.Thread)
		}
	case "approval":
		if e.Detail != "" {
			p.say("It asks: %s %s", e.Tool, e.Detail)
		} else {
			p.say("It asks: %s", e.Tool)
		}
		if p.tty == nil {
			p.say("  `paceline approve %s %s`, or deny, answers it.", e.Thread, e.ID)
		}
	}
}

// said is an event's own words.
func said(e supervisor.Event) string {
	if e.Event == "finished" && e.Text == "" {
		return "Finished: " + e.Status + "."
	}
	if e.Event == "finished" {
		return sentence(e.Text) + "."
	}
	return e.Text
}

func (p *printer) text(s string) {
	if s = printable(s); s != "" {
		_, _ = io.WriteString(p.out, s)
		p.line = !strings.HasSuffix(s, "\n")
	}
}

// say writes one line about the run. The caller holds the lock.
func (p *printer) say(format string, a ...any) {
	if p.line {
		_, _ = io.WriteString(p.out, "\n")
		p.line = false
	}
	fmt.Fprintln(p.err, printable(fmt.Sprintf(format, a...)))
}

func (p *printer) note(text string) {
	if p.json {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say("%s", text)
}

// close ends the last line.
func (p *printer) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
	if p.line && !p.json {
		_, _ = io.WriteString(p.out, "\n")
		p.line = false
	}
}

// wait counts down to a time, on a terminal alone. The caller holds the lock.
func (p *printer) wait(until time.Time) {
	if !p.people || p.json {
		return
	}
	stop := make(chan struct{})
	p.stop = stop
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			p.mu.Lock()
			if p.stop == stop {
				fmt.Fprintf(p.err, "\r\x1b[Kwaiting, %s", distance(time.Until(until)))
			}
			p.mu.Unlock()
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
}

// wake ends the countdown. The caller holds the lock.
func (p *printer) wake() {
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
		fmt.Fprint(p.err, "\r\x1b[K")
	}
}

// ask puts a question to the person at the terminal. No answer is no.
func (p *printer) ask(question string) (yes bool) {
	p.mu.Lock()
	fmt.Fprint(p.err, question)
	p.mu.Unlock()
	line, _ := p.tty.ReadString('\n')
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes"
}

// when writes a time for people: local, with its zone and its distance.
func when(t, now time.Time) string {
	if t.IsZero() {
		return "at an unknown time"
	}
	l := t.Local()
	layout := "15:04 MST"
	if y, m, d := now.Local().Date(); l.Year() != y || l.Month() != m || l.Day() != d {
		layout = "2 Jan 15:04 MST"
	}
	return l.Format(layout) + " (" + distance(t.Sub(now)) + ")"
}

func distance(d time.Duration) string {
	word := func(d time.Duration) string {
		switch {
		case d < time.Minute:
			return fmt.Sprintf("%ds", int(d.Seconds()))
		case d < time.Hour:
			return fmt.Sprintf("%dm", int(d.Minutes()))
		case d < 48*time.Hour:
			return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
		}
		return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
	}
	if d < 0 {
		return word(-d) + " ago"
	}
	return "in " + word(d)
}
