package tally

import (
	"time"

	"github.com/paceline/paceline/internal/quota"
)

// CodexSums sums what rollouts told, given in the order of their paths.
//
// A fork's file begins with a copy of its parent's rows, under new times. They
// are known by what they cost, one after the other; where the parent is not
// there, or nothing matches, by coming in one burst. Of what is left, rows that
// are alike in time, model and cost count once.
func CodexSums(files []*Rollout, zone *time.Location) []Sum {
	parents := map[string]*Rollout{}
	n := 0
	for _, f := range files {
		n += len(f.Events)
		if _, have := parents[f.ID]; !have && f.ID != "" {
			parents[f.ID] = f
		}
	}
	d := newDays(zone)
	seen := make(map[Event]struct{}, n)
	for _, f := range files {
		for _, e := range f.own(parents[f.Parent]) {
			if _, had := seen[e]; had {
				continue
			}
			seen[e] = struct{}{}
			d.add(Codex, e.At, e.Model, e.Cost)
		}
	}
	return d.sorted()
}

// own are a rollout's events without what it copied from its parent, which may
// be nil.
func (r *Rollout) own(parent *Rollout) []Event {
	if r.Parent == "" {
		return r.Events
	}
	n := 0
	if parent != nil && parent != r {
		n = r.copied(parent)
	}
	if n == 0 {
		n = r.burst()
	}
	return r.Events[n:]
}

// copied is how many events from the first are the parent's, of which only
// those before the fork can be.
func (r *Rollout) copied(parent *Rollout) int {
	n := 0
	for n < len(r.Events) && n < len(parent.Events) {
		p := parent.Events[n]
		if p.Cost != r.Events[n].Cost || r.Forked != 0 && p.At > r.Forked {
			break
		}
		n++
	}
	return n
}

// together is how close the rows of one burst follow each other.
const together = 1000

// burst is how many events from the first were written in one go.
func (r *Rollout) burst() int {
	close := func(a, b int64) bool { return a <= b && b-a <= together }
	if len(r.Early) < 2 || !close(r.Early[0], r.Early[1]) {
		return 0
	}
	n := 0
	for last := r.Early[0]; n < len(r.Events) && close(last, r.Events[n].At); n++ {
		last = r.Events[n].At
	}
	return n
}

// CodexLimits is the newest reading of each window, over all rollouts.
func CodexLimits(files []*Rollout) []quota.Reading {
	var all []quota.Reading
	for _, f := range files {
		all = append(all, f.Limits...)
	}
	return quota.Newest(all)
}
