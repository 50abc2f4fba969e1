package supervisor

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/logkey"
	"github.com/paceline/paceline/internal/store"
)

// journal is what clients are told, thread by thread. An event is told at once
// and is on disk a moment later: one that follows from a decision in the
// decision's own transaction, all others in batches, since a delta is not worth
// a flush of its own. Whoever listens reads at his own pace: from memory while
// he keeps up, from disk where he fell behind. Nobody waits for him.
type journal struct {
	store *store.Store
	log   *slog.Logger

	beginning sync.Mutex // held by whoever asks the store for what follows
	mu        sync.Mutex
	epoch     int64 // of this server; 0 until the first event
	threads   map[paceline.ThreadID]*talk
}

// batched is how long an event may be told without being on disk. What a killed
// server loses of it belongs to a run that died with it.
const batched = 200 * time.Millisecond

// recent is how many events of a thread are kept in memory once they are on
// disk.
const recent = 512

// talk is one thread's part of the journal. Its database may be away for a
// while: whoever writes holds writing and nothing else meanwhile, so that what
// happens is told and listened to all the same, and kept here until it is back.
type talk struct {
	writing sync.Mutex

	mu       sync.Mutex
	tail     []Event       // the last ones, without a gap
	durable  int64         // number of the last one on disk
	deciding bool          // a decision takes the next numbers
	later    []Event       // what was told meanwhile
	waiting  bool          // a flush is due
	more     chan struct{} // closed when something is added
}

func newJournal(st *store.Store, log *slog.Logger) *journal {
	return &journal{store: st, log: log, threads: map[paceline.ThreadID]*talk{}}
}

// Offset is a place in a thread's events. The zero value is its beginning.
type Offset struct{ Epoch, Seq int64 }

func (o Offset) String() string { return fmt.Sprintf("%d.%d", o.Epoch, o.Seq) }

// ParseOffset reads what String wrote; "" is the beginning.
func ParseOffset(s string) (o Offset, err error) {
	if s == "" {
		return o, nil
	}
	epoch, seq, ok := strings.Cut(s, ".")
	if ok {
		if o.Epoch, err = strconv.ParseInt(epoch, 10, 64); err == nil {
			o.Seq, err = strconv.ParseInt(seq, 10, 64)
		}
	}
	if !ok || err != nil || o.Epoch < 0 || o.Seq < 0 {
		return Offset{}, fmt.Errorf("offset %q is not of the form 3.141", s)
	}
	return o, nil
}

// of finds a thread's talk, ready to be added to.
func (j *journal) of(ctx context.Context, id paceline.ThreadID) (*talk, error) {
	if t, _ := j.begun(id); t != nil {
		return t, nil
	}
	j.beginning.Lock()
	defer j.beginning.Unlock()
	t, epoch := j.begun(id)
	if t != nil {
		return t, nil
	}
	if epoch == 0 {
		err := j.store.InTx(ctx, func(tx *store.Tx) (err error) {
			epoch, err = tx.NextEpoch(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	last, err := j.store.LastEvent(ctx, id, epoch)
	if err != nil {
		return nil, err
	}
	t = &talk{more: make(chan struct{}), durable: last}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.epoch == 0 {
		j.epoch = epoch // once: it is read without the lock
	}
	j.threads[id] = t
	return t, nil
}

func (j *journal) begun(id paceline.ThreadID) (t *talk, epoch int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.threads[id], j.epoch
}

// tell adds an event that follows from no decision.
func (j *journal) tell(e Event) {
	ctx := context.Background()
	t, err := j.of(ctx, e.Thread)
	if err != nil {
		j.log.LogAttrs(ctx, slog.LevelWarn, "event not kept", slog.String(logkey.Thread, string(e.Thread)), slog.Any(logkey.Error, err))
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deciding {
		t.later = append(t.later, e)
	} else {
		t.add(j.epoch, e)
	}
	if !t.waiting {
		t.waiting = true
		time.AfterFunc(batched, func() { j.flush(context.Background(), e.Thread, t) })
	}
}

// end is the place behind a thread's last event.
func (j *journal) end(ctx context.Context, id paceline.ThreadID) (Offset, error) {
	t, err := j.of(ctx, id)
	if err != nil {
		return Offset{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return Offset{j.epoch, t.last()}, nil
}

// commit runs do in one transaction together with the events that it returns
// and all that were told before them.
func (j *journal) commit(ctx context.Context, id paceline.ThreadID, do func(tx *store.Tx) ([]Event, error)) error {
	t, err := j.of(ctx, id)
	if err != nil {
		return err
	}
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	t.deciding = true
	t.mu.Unlock()
	var told []Event
	err = j.store.InTx(ctx, func(tx *store.Tx) error {
		if told, err = do(tx); err != nil {
			return err
		}
		t.mu.Lock()
		rows, err := t.rows(j.epoch, told)
		t.mu.Unlock()
		if err != nil {
			return err
		}
		return tx.AddEvents(ctx, id, rows)
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.add(j.epoch, told...)
		t.kept(t.last())
	}
	t.add(j.epoch, t.later...)
	t.deciding, t.later = false, nil
	return err
}

// flush puts what was told on disk. What cannot be written is tried again with
// the next event.
func (j *journal) flush(ctx context.Context, id paceline.ThreadID, t *talk) {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	t.waiting = false
	last := t.last()
	rows, err := t.rows(j.epoch, nil)
	t.mu.Unlock()
	if err == nil && len(rows) > 0 {
		err = j.store.InTx(ctx, func(tx *store.Tx) error { return tx.AddEvents(ctx, id, rows) })
	}
	if err != nil {
		j.log.LogAttrs(ctx, slog.LevelWarn, "events not kept yet", slog.String(logkey.Thread, string(id)), slog.Any(logkey.Error, err))
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept(last)
}

// close puts everything on disk.
func (j *journal) close(ctx context.Context) {
	j.mu.Lock()
	threads := j.threads
	j.threads = map[paceline.ThreadID]*talk{}
	j.mu.Unlock()
	for id, t := range threads {
		j.flush(ctx, id, t)
	}
}

// last is the number of the last event. The caller holds the lock.
func (t *talk) last() int64 {
	if n := len(t.tail); n > 0 {
		return t.tail[n-1].seq
	}
	return t.durable
}

func (t *talk) add(epoch int64, told ...Event) {
	for _, e := range told {
		e.seq = t.last() + 1
		e.Offset = Offset{epoch, e.seq}.String()
		e.At = e.At.UTC()
		t.tail = append(t.tail, e)
	}
	if len(told) > 0 {
		close(t.more)
		t.more = make(chan struct{})
	}
}

// kept notes what is on disk, and lets the oldest of that go.
func (t *talk) kept(last int64) {
	t.durable = last
	onDisk := len(t.tail) - int(t.last()-t.durable)
	if over := min(len(t.tail)-recent, onDisk); over > recent {
		t.tail = append([]Event(nil), t.tail[over:]...)
	}
}

// rows are the events that are not on disk yet, with more behind them.
func (t *talk) rows(epoch int64, more []Event) (rows []store.EventRow, err error) {
	seq := t.durable
	row := func(e Event) {
		seq++
		body, e2 := json.Marshal(e)
		if e2 != nil {
			err = e2
		}
		rows = append(rows, store.EventRow{Seq: seq, Epoch: epoch, Body: body})
	}
	for _, e := range t.tail {
		if e.seq > t.durable {
			row(e)
		}
	}
	for _, e := range more {
		e.Offset, e.At = Offset{epoch, seq + 1}.String(), e.At.UTC()
		row(e)
	}
	return rows, err
}

// together is how close events must come to be handed over in one go. A burst of
// deltas is then a few writes and not hundreds; nobody sees the difference.
const together = 8 * time.Millisecond

// page is how many events are read from disk at once.
const page = 256

// Listen hands over a thread's events after a place, each once and in order,
// until ctx ends or take returns false. Between two batches idle is asked: it
// returns true where nothing more will come, and Listen returns.
func (s *Supervisor) Listen(ctx context.Context, id paceline.ThreadID, from Offset, idle func() bool, take func(Event) bool) error {
	t, err := s.journal.of(ctx, id)
	if err != nil {
		return err
	}
	after := from.Seq
	if from.Seq > 0 && from.Epoch < s.journal.epoch {
		// A server that was killed may have told more than it kept, and the next
		// one gave those numbers to others.
		kept, err := s.Store.LastEvent(ctx, id, from.Epoch)
		if err != nil {
			return err
		}
		after = min(after, kept)
	}
	var told time.Time // when the last batch was
	for {
		quiet := idle()
		batch, more, err := s.batch(ctx, id, t, after)
		if err != nil {
			return err
		}
		for _, e := range batch {
			if !take(e) {
				return nil
			}
			after = e.seq
		}
		if len(batch) > 0 {
			told = time.Now()
			continue
		}
		if quiet {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
			if wait := together - time.Since(told); wait > 0 {
				select {
				case <-ctx.Done():
				case <-time.After(wait):
				}
			}
		case <-time.After(time.Second): // for idle
		}
	}
}

// batch reads the next events, from memory where they are, else from disk.
func (s *Supervisor) batch(ctx context.Context, id paceline.ThreadID, t *talk, after int64) (batch []Event, more <-chan struct{}, err error) {
	t.mu.Lock()
	more = t.more
	if first := t.last() - int64(len(t.tail)); after >= first {
		batch = append(batch, t.tail[min(after-first, int64(len(t.tail))):]...)
		t.mu.Unlock()
		return batch, more, nil
	}
	t.mu.Unlock()
	rows, err := s.Store.Events(ctx, id, after, page)
	if err != nil {
		return nil, more, err
	}
	for _, r := range rows {
		var e Event
		if err := json.Unmarshal(r.Body, &e); err != nil {
			return nil, more, fmt.Errorf("event %d of %s: %w", r.Seq, id, err)
		}
		e.seq = r.Seq
		batch = append(batch, e)
	}
	return batch, more, nil
}
