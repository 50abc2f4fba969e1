package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/paceline/paceline"
)

// people are those who answer what a run asks.
type people struct {
	mu    sync.Mutex
	alone map[paceline.ThreadID]bool // its client is a script that nobody attends
	asked map[question]chan bool
}

type question struct {
	thread paceline.ThreadID
	id     paceline.RequestID
}

// ErrNotAsked is an answer to a question that is not open.
var ErrNotAsked = errors.New("nothing of that name is asked")

// Attend says whether anybody may be there to answer what the thread's runs
// ask. Where nobody is, a run ends at its first question (exit code 5): better
// than a night of waiting. A thread of which nothing was said is attended.
func (s *Supervisor) Attend(id paceline.ThreadID, attended bool) {
	s.people.mu.Lock()
	defer s.people.mu.Unlock()
	delete(s.people.alone, id)
	if !attended {
		s.people.alone[id] = true
	}
}

// Ask waits for a person's answer to an approval; attended is false where
// nobody is there to give one.
func (s *Supervisor) Ask(ctx context.Context, e Event) (allow, attended bool) {
	q, answer := question{e.Thread, e.ID}, make(chan bool, 1)
	s.people.mu.Lock()
	if s.people.alone[e.Thread] {
		s.people.mu.Unlock()
		return false, false
	}
	s.people.asked[q] = answer
	s.people.mu.Unlock()
	defer func() {
		s.people.mu.Lock()
		defer s.people.mu.Unlock()
		delete(s.people.asked, q)
	}()
	select {
	case allow = <-answer:
		return allow, true
	case <-ctx.Done():
		return false, true
	}
}

// Answer gives a person's answer. The first one stands.
func (s *Supervisor) Answer(thread paceline.ThreadID, id paceline.RequestID, allow bool) error {
	s.people.mu.Lock()
	defer s.people.mu.Unlock()
	q := question{thread, id}
	answer, ok := s.people.asked[q]
	if !ok {
		return fmt.Errorf("%s in %s: %w", id, thread, ErrNotAsked)
	}
	delete(s.people.asked, q)
	answer <- allow
	return nil
}

// Asked lists the open questions of a thread.
func (s *Supervisor) Asked(thread paceline.ThreadID) (out []paceline.RequestID) {
	s.people.mu.Lock()
	defer s.people.mu.Unlock()
	for q := range s.people.asked {
		if q.thread == thread {
			out = append(out, q.id)
		}
	}
	return out
}
