package team

import (
	"fmt"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
)

// asleep says until when nobody can have a round: until the soonest change over
// all of them, not of whichever failed last (A18). A wait that stands already is
// not said again. Where nothing will change by itself a person has to look.
func asleep(s State, all []int, out []string, f Facts) (State, []Effect) {
	w, bars := Wait{}, []bar(nil)
	for _, i := range all {
		why, until := s.keeps(i, f)
		if _, b := s.engine(s.Members[i], f); !until.IsZero() && len(b) > 0 && until.Equal(first(b).until) {
			bars = append(bars, first(b))
		}
		if !until.IsZero() && (w.Until.IsZero() || until.Before(w.Until)) {
			w = Wait{Until: until, Source: paceline.ResetAssumed, Why: "@" + s.Members[i].ID + " " + why}
		}
	}
	if w.Until.IsZero() {
		return rest(s, Paused, run.NeedPerson, "no participant can work: "+strings.Join(out, "; "), "`paceline team resume`, when that is put right", f, nil)
	}
	line := fmt.Sprintf("Waiting until %s: %s", run.Clock(w.Until, f.Now), w.Why)
	if b := first(bars); len(bars) > 0 && b.until.Equal(w.Until) {
		w.For, w.Source = b.engine, b.source
		line = fmt.Sprintf("every participant limited — waiting for %s, back first at %s", w.For, run.Clock(w.Until, f.Now))
		if b.kind == unreachable {
			line = "No engine can be reached; trying again at " + run.Clock(w.Until, f.Now)
		}
	}
	if sameWait(s.Wait, w) {
		return s, nil
	}
	s.Wait = w
	d := run.Decision{
		At: f.Now, Event: "round", What: fmt.Sprintf("sleep until %s (%s)", w.Until.UTC().Format(time.RFC3339), w.Source), Why: strings.Join(out, "; "),
	}
	return s, []Effect{Sleep{w}, Line{line}, Decide{d}}
}

func sameWait(a, b Wait) bool { return a.Until.Equal(b.Until) && a.For == b.For }
