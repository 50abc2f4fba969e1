package tally

import "time"

// ClaudeSums sums what files told, given in the order of their paths.
//
// An answer counts once. Rows of one answer are found by its key; a branch's
// row, or the row that a branch repeats, also by the message's id within the
// conversation, since a branch is asked for again under a request of its own.
func ClaudeSums(files [][]Entry, zone *time.Location) []Sum {
	n := 0
	for _, f := range files {
		n += len(f)
	}
	s := standing{byKey: make(map[uint64]int32, n)}
	for _, f := range files {
		for i := range f {
			if f[i].Side {
				s.sides = true
			}
		}
	}
	if s.sides {
		s.byTalk = make(map[uint64][]int32, n)
	}
	for _, f := range files {
		for i := range f {
			s.row(&f[i])
		}
	}
	d := newDays(zone)
	for _, e := range s.entries {
		d.add(Claude, e.At, e.Model, e.Tokens)
	}
	return d.sorted()
}

// standing is the entries that stand for an answer so far.
type standing struct {
	entries []*Entry
	byKey   map[uint64]int32
	byTalk  map[uint64][]int32 // only where any row is a branch's
	sides   bool
}

func (s *standing) row(e *Entry) {
	if e.Key == 0 {
		s.entries = append(s.entries, e)
		return
	}
	i, same := s.byKey[e.Key]
	if !same {
		i, same = s.branch(e)
	}
	switch {
	case !same:
		i = int32(len(s.entries))
		s.entries = append(s.entries, e)
		s.byKey[e.Key] = i
	case better(e, s.entries[i]):
		delete(s.byKey, s.entries[i].Key)
		s.entries[i] = e
		s.byKey[e.Key] = i
	}
	s.talk(e, i)
}

// branch finds the answer that e repeats, or that repeats e, beside a
// conversation.
func (s *standing) branch(e *Entry) (int32, bool) {
	for _, i := range s.byTalk[e.Talk] {
		if e.Side || s.entries[i].Side {
			return i, true
		}
	}
	return 0, false
}

func (s *standing) talk(e *Entry, i int32) {
	if !s.sides {
		return
	}
	for _, have := range s.byTalk[e.Talk] {
		if have == i {
			return
		}
	}
	s.byTalk[e.Talk] = append(s.byTalk[e.Talk], i)
}
