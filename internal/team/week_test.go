package team

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/place"
	"github.com/paceline/paceline/internal/run"
)

// span is a time in which an engine does not serve.
type span struct {
	from, to time.Time
	limit    bool // otherwise it cannot be reached
}

// week is a team's week on a clock of its own: engines whose limits and outages
// come when they come, runs that take their time, a server that is restarted.
type week struct {
	t     testing.TB
	rand  *rand.Rand
	now   time.Time
	end   time.Time
	s     State
	away  map[paceline.Engine][]span
	known map[paceline.Engine]Engine

	begun  map[paceline.MessageID]bool
	useful time.Duration // in rounds that worked
	could  time.Duration // that somebody who knows everything could have used
	rounds int
}

func newWeek(t testing.TB, seed uint64) *week {
	w := &week{
		t: t, rand: rand.New(rand.NewPCG(seed, 1)), now: noon, end: noon.Add(7 * 24 * time.Hour),
		away: map[paceline.Engine][]span{}, known: map[paceline.Engine]Engine{}, begun: map[paceline.MessageID]bool{},
	}
	engines := []paceline.Engine{eng("claude"), eng("codex"), eng("agy")}
	for _, e := range engines {
		// A window is used up some time into each five hours, and lifts at their end.
		for at := noon; at.Before(w.end); at = at.Add(5 * time.Hour) {
			if w.rand.IntN(3) > 0 {
				w.away[e] = append(w.away[e], span{at.Add(w.minutes(60, 280)), at.Add(5 * time.Hour), true})
			}
		}
	}
	for range 1 + w.rand.IntN(4) { // the line is down, for one of them or for all
		from := noon.Add(w.minutes(0, 7*24*60))
		down := span{from: from, to: from.Add(w.minutes(2, 180))}
		for _, e := range engines {
			if w.rand.IntN(2) == 0 {
				w.away[e] = append(w.away[e], down)
			}
		}
	}
	s := New("t-1", "x", Rules{}, []Participant{
		{ID: "ann", Chain: engines}, {ID: "bob", Chain: []paceline.Engine{engines[1], engines[0]}}, {ID: "cyd", Chain: engines[2:]},
	})
	w.s, _ = Step(s, ResumeAsked{}, Facts{Now: w.now})
	return w
}

func (w *week) minutes(from, to int) time.Duration {
	return time.Duration(from)*time.Minute + time.Duration(w.rand.Int64N(int64(to-from)*int64(time.Minute)))
}

// gone is what keeps an engine from serving at a time.
func (w *week) gone(e paceline.Engine, at time.Time) (span, bool) {
	for _, s := range w.away[e] {
		to := s.to
		if s.limit {
			to = run.Back(string(w.s.Thread), paceline.Reset{At: s.to}) // nobody may ask before the margin is over
		}
		if !at.Before(s.from) && at.Before(to) {
			return s, true
		}
	}
	return span{}, false
}

// next is when something changes for an engine after a time.
func (w *week) next(e paceline.Engine, at time.Time) time.Time {
	next := w.end
	for _, s := range w.away[e] {
		if s.from.After(at) && s.from.Before(next) {
			next = s.from
		}
	}
	return next
}

func (w *week) facts() Facts { return Facts{Now: w.now, Engines: w.known} }

func (w *week) step(e Event) (out []Effect) {
	w.s, out = Step(w.s, e, w.facts())
	if w.rand.IntN(20) == 0 { // the server is killed, and the next one reads what is on disk
		b, err := json.Marshal(w.s)
		var again State
		if err == nil {
			err = json.Unmarshal(b, &again)
		}
		if err != nil {
			w.t.Fatal(err)
		}
		w.s = again
	}
	return out
}

// live plays the week.
func (w *week) live() {
	last := map[string]time.Time{}
	for w.now.Before(w.end) {
		w.rounds++
		id := paceline.MessageID(fmt.Sprint(w.rounds))
		for _, e := range w.step(Due{Message: id}) {
			if b, ok := e.(Begin); ok {
				if w.begun[b.Round.Message] {
					w.t.Fatalf("round %s began twice", b.Round.Message)
				}
				w.begun[b.Round.Message] = true
				last[b.Round.Participant] = w.now
				w.round(b.Round)
			}
		}
		switch {
		case w.s.Phase != Running:
			w.t.Fatalf("it rests: %s", w.s.Why)
		case w.s.Round != nil:
			w.t.Fatal("a round is under way that nobody carries")
		case w.s.Wait.Until.After(w.now):
			w.now = w.s.Wait.Until
		}
	}
	for _, m := range w.s.Members {
		if m.Passed > 4*len(w.s.Members) || last[m.ID].IsZero() {
			w.t.Errorf("@%s starves: passed over %d times", m.ID, m.Passed)
		}
	}
	w.could = w.most()
}

// round carries a round along its chain as package run does.
func (w *week) round(r Round) {
	out := Result{Message: r.Message, Status: run.Blocked, What: "nobody could serve"}
	began := w.now
	for _, e := range r.Chain {
		if place.Held(w.known[e].Limit, w.now) {
			continue
		}
		if _, barred := w.s.bar(e, w.facts()); barred {
			continue
		}
		gone, away := w.gone(e, w.now)
		switch {
		case away && gone.limit:
			w.now = w.now.Add(2 * time.Second)
			out.Tries = append(out.Tries, w.limited(e, gone))
			continue
		case away:
			w.now = w.now.Add(5 * time.Second)
			out.Tries = append(out.Tries, Try{Engine: e, Cause: paceline.CauseTransport, Failed: true})
			continue
		}
		until := w.now.Add(w.minutes(5, 60))
		cut := w.next(e, w.now)
		try := Try{Engine: e}
		switch {
		case cut.Before(until):
			until, out.Worked, out.What = cut, true, "it was cut off"
			gone, away := w.gone(e, cut)
			if try = (Try{Engine: e, Cause: paceline.CauseTransport, Failed: true}); away && gone.limit {
				try = w.limited(e, gone)
			}
		case w.rand.IntN(50) == 0:
			out.Worked, out.What = true, "it died"
			try.Cause, try.Failed = paceline.CauseCrash, true
		default:
			out.Status, out.Reply = run.Answered, w.reply()
		}
		w.useful += until.Sub(w.now)
		w.now = until
		out.Tries = append(out.Tries, try)
		break
	}
	out.Busy = w.now.Sub(began)
	w.step(Ended{out})
	w.step(Ended{out}) // a restart may well say it twice
}

func (w *week) limited(e paceline.Engine, s span) Try {
	r := paceline.Reset{At: s.to, Source: paceline.ResetStated}
	w.known[e] = Engine{Limit: &paceline.Limit{Engine: e, Cause: limitHit, Reset: r}}
	return Try{Engine: e, Cause: limitHit, Failed: true, Reset: r}
}

func (w *week) reply() string {
	return []string{"done that", "done that", "look\nMOVE: ask @ann", "look\nMOVE: ask @bob", "look\nMOVE: ask @cyd"}[w.rand.IntN(5)]
}

// most is the time in which any engine could serve. Between two of these instants
// nothing changes.
func (w *week) most() (d time.Duration) {
	at := []time.Time{noon, w.now}
	for _, spans := range w.away {
		for _, s := range spans {
			at = append(at, s.from, s.to, run.Back(string(w.s.Thread), paceline.Reset{At: s.to}))
		}
	}
	at = slices.DeleteFunc(at, func(t time.Time) bool { return t.Before(noon) || t.After(w.now) })
	slices.SortFunc(at, time.Time.Compare)
	for i := range len(at) - 1 {
		for e := range w.away {
			if _, away := w.gone(e, at[i]); !away {
				d += at[i+1].Sub(at[i])
				break
			}
		}
	}
	return d
}

// TestWeek is one week, in less than a second.
func TestWeek(t *testing.T) {
	began := time.Now()
	w := newWeek(t, 7)
	w.live()
	if took := time.Since(began); took > time.Second {
		t.Errorf("a week took %s", took)
	}
	t.Logf("%d rounds, %s of %s", len(w.begun), w.useful, w.could)
}

// TestWeeks are a thousand: nobody starves, nothing runs twice, and hardly any
// time is lost that somebody who knows everything could have used.
func TestWeeks(t *testing.T) {
	weeks := 1000
	if testing.Short() {
		weeks = 50
	}
	var useful, could time.Duration
	worst := 1.0
	for seed := range weeks {
		w := newWeek(t, uint64(seed)+100)
		w.live()
		useful, could = useful+w.useful, could+w.could
		worst = min(worst, w.useful.Seconds()/w.could.Seconds())
	}
	ratio := useful.Seconds() / could.Seconds()
	t.Logf("%d weeks: %.4f of the time that could be used was used; %.4f in the worst", weeks, ratio, worst)
	if ratio < 0.99 {
		t.Errorf("only %.4f of the time that could be used was used", ratio)
	}
}
