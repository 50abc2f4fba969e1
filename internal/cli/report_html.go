package cli

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/paceline/paceline"
)

// The page is one file that needs nothing else: no script, no font, no address.
// Whatever people or programs wrote goes through html/template, which knows
// where in the page it stands.

//go:embed report.tmpl
var reportText string

var reportTemplate = template.Must(template.New("report").Parse(reportText))

// page is what the template is given; all sizes are in units of the picture.
type page struct {
	Since, Until    string
	Threads         []pageThread
	Lost            []pageLoss
	Answered, Asked int
	Width, Height   int
	Ticks           []tick
	Legend          []legend
	Axis, Base      int
}

type pageThread struct {
	Thread, Title, Dir, Status, Outcome string
	Answered, Messages                  int
	Label, Row                          int // where its line of the picture is
	Bars                                []bar
	Moves                               []pageMove
}

// bar is a run, or a time in which nothing ran.
type bar struct {
	X, W  string
	Class string
	Says  string
}

type pageMove struct{ At, From, Cause, Then, Idle string }

type pageLoss struct{ Cause, Time, Avoid string }

type tick struct {
	X    string
	Says string
}

type legend struct {
	X, Y  int
	Class string
	Says  string
}

const (
	pictureWidth = 960
	pictureLeft  = 150 // of the bars; the names of the threads stand before them
	lineHeight   = 30
	legendWidth  = 160
	legendRow    = 5
	colours      = 6 // classes e0 to e5 of the template
)

func (r report) html(w io.Writer, loc *time.Location) error {
	if err := reportTemplate.Execute(w, r.page(loc)); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

func (r report) page(loc *time.Location) page {
	p := page{
		Since: r.Since.In(loc).Format("2 Jan 2006 15:04 MST"), Until: r.Until.In(loc).Format("2 Jan 2006 15:04 MST"),
		Width: pictureWidth,
	}
	class := map[string]string{}
	for _, t := range r.Threads {
		for _, e := range t.Engines {
			if class[e] == "" {
				class[e] = fmt.Sprintf("e%d", len(class)%colours)
				p.legend(class[e], e)
			}
		}
	}
	p.legend("idle", "nothing ran")
	p.Axis = p.Legend[len(p.Legend)-1].Y + lineHeight
	for i, t := range r.Threads {
		p.Answered, p.Asked = p.Answered+t.Answered, p.Asked+t.Messages
		row := p.Axis + i*lineHeight
		out := pageThread{
			Thread: t.Thread, Title: t.Title, Dir: t.Dir, Status: t.Status, Outcome: t.Outcome,
			Answered: t.Answered, Messages: t.Messages, Row: row + 5, Label: row + 19,
		}
		for _, s := range t.Runs {
			out.Bars = append(out.Bars, r.bar(s.Began, s.Ended, class[s.Engine], fmt.Sprintf("%s on %s: %s, %s to %s",
				s.Run, s.Engine, s.Status, s.Began.In(loc).Format("15:04"), s.Ended.In(loc).Format("15:04"))))
		}
		for _, m := range t.Moves {
			end := m.At.Add(time.Duration(m.Idle * float64(time.Second)))
			if m.Idle > 0 {
				out.Bars = append(out.Bars, r.bar(m.At, end, "idle", fmt.Sprintf("nothing ran for %s: %s, %s", span(m.Idle), m.From, m.Cause)))
			}
			out.Moves = append(out.Moves, pageMove{m.At.In(loc).Format("2 Jan 15:04"), m.From, m.Cause, m.then(), span(m.Idle)})
		}
		p.Threads = append(p.Threads, out)
	}
	p.Base = p.Axis + len(r.Threads)*lineHeight
	p.Height = p.Base + lineHeight
	p.Ticks = r.ticks(loc)
	for _, cause := range slices.SortedFunc(maps.Keys(r.Lost), func(a, b string) int {
		if r.Lost[a] != r.Lost[b] {
			return int(r.Lost[b]) - int(r.Lost[a])
		}
		return strings.Compare(a, b)
	}) {
		if r.Lost[cause] >= 1 {
			p.Lost = append(p.Lost, pageLoss{cause, span(r.Lost[cause]), r.avoid(cause)})
		}
	}
	return p
}

func (p *page) legend(class, says string) {
	n := len(p.Legend)
	p.Legend = append(p.Legend, legend{pictureLeft + n%legendRow*legendWidth, n/legendRow*lineHeight + 16, class, says})
}

// x is where a time stands in the picture.
func (r report) x(t time.Time) float64 {
	whole := r.Until.Sub(r.Since)
	if whole <= 0 {
		return pictureLeft
	}
	part := float64(t.Sub(r.Since)) / float64(whole)
	return pictureLeft + min(1, max(0, part))*(pictureWidth-pictureLeft-10)
}

func (r report) bar(from, to time.Time, class, says string) bar {
	x := r.x(from)
	return bar{X: fmt.Sprintf("%.1f", x), W: fmt.Sprintf("%.1f", max(1.5, r.x(to)-x)), Class: class, Says: says}
}

// ticks are at most a dozen round times.
func (r report) ticks(loc *time.Location) (out []tick) {
	step := 5 * time.Minute
	for _, s := range []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour} {
		if r.Until.Sub(r.Since)/step > 10 {
			step = s
		}
	}
	for i, t := 0, r.Since.Truncate(step); i < 60 && t.Before(r.Until); i, t = i+1, t.Add(step) {
		if t.Before(r.Since) {
			continue
		}
		layout := "15:04"
		if step >= 12*time.Hour {
			layout = "2 Jan"
		}
		out = append(out, tick{fmt.Sprintf("%.1f", r.x(t)), t.In(loc).Format(layout)})
	}
	return out
}

// then says what followed a failed run.
func (m move) then() string {
	switch m.To {
	case "":
		return "nothing followed yet"
	case m.From:
		return "went on itself"
	}
	return "moved to " + m.To
}

// avoid says what would have kept work going where this cause stopped it.
func (r report) avoid(cause string) string {
	var c paceline.Cause
	if err := c.UnmarshalText([]byte(cause)); err != nil {
		return "`paceline why` shows what was seen"
	}
	alone := false // a thread that was stopped had nowhere to go
	for _, t := range r.Threads {
		for _, m := range t.Moves {
			alone = alone || m.Cause == cause && m.Idle > 0 && len(t.Chain) < 2
		}
	}
	switch c {
	case paceline.CauseUsageLimit, paceline.CauseThrottle:
		if alone {
			return "a second engine in the chain: paceline run --chain A,B"
		}
		return "one more engine in the chain, or a start after the reset: those that it names were limited together"
	case paceline.CauseTransport, paceline.CauseServer, paceline.CauseStall:
		if alone {
			return "a second engine on another route in the chain"
		}
		return "an engine in the chain whose route did not fail with the others"
	case paceline.CauseAuth:
		return "to sign in before leaving; `paceline doctor` says who is signed out"
	case paceline.CauseBilling:
		return "credit on the account, or another account's engine in the chain"
	case paceline.CauseModel:
		return "a model that the account has; `paceline doctor` says what it lacks"
	case paceline.CauseContext:
		return "a new thread, with less in it"
	case paceline.CauseStopped:
		return "nothing: a person stopped it"
	case paceline.CauseUnknown, paceline.CauseCrash, paceline.CauseOther:
	}
	return "nothing that we know of; `paceline why` shows what was seen"
}
