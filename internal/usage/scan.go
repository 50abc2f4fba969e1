// Package usage scans what the vendors' programs leave on disk for what their
// answers cost, and for what is left of their usage windows.
//
// It only reads, and never asks anybody over the network (Z25). A scan reads
// what no scan before it has read: what each file told is remembered, in memory
// and in an index file, with how far it was read. What a file told is summed up
// by package tally, whose rules see no file.
//
// Memory does not grow with the files: a worker reads through one buffer, and
// keeps of a row only the numbers.
package usage

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paceline/paceline/internal/quota"
	"github.com/paceline/paceline/internal/usage/tally"
)

// Floor is how soon one scan may follow another. What is asked sooner is
// answered by the one before (Z25).
const Floor = 2 * time.Second

// Scanner remembers what it read. It may be used from several goroutines; they
// wait for each other.
type Scanner struct {
	roots Roots
	index string
	zone  *time.Location

	mu    sync.Mutex
	files map[string]*known
	last  *Report
	// unsaved is about how many bytes a new process would read again.
	unsaved int64
}

// worth is how much reading an index is written for. Below that it costs more
// than it saves.
const worth = 1 << 20

// New is a scanner of roots that remembers in the file index; "" remembers
// nothing beyond the process. Days are those of zone.
func New(roots Roots, index string, zone *time.Location) *Scanner {
	return &Scanner{roots: roots, index: index, zone: zone}
}

// Report is what a scan found.
type Report struct {
	At     time.Time
	Sums   []tally.Sum // Claude's, then Codex's, by day and model
	Limits []quota.Reading
	Files  int
	Bytes  int64 // of all files
	Read   int64 // of them, those that this scan read
	Unread int   // files that could not be read
	Long   int   // lines that were too long to be read: what they cost is not in Sums
	// Unsaved says why the index was not written; nil where it was. The report is
	// none the less whole.
	Unsaved error
}

// Progress tells how far a scan is, in bytes.
type Progress struct{ Done, Total int64 }

// Recent is a report that is at most so old; it scans where there is none.
func (s *Scanner) Recent(ctx context.Context, age time.Duration, progress func(Progress)) (*Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && time.Since(s.last.At) < max(age, Floor) {
		return s.last, nil
	}
	return s.scan(ctx, progress)
}

// Scan reads what is new. Progress may be nil; it is called from this goroutine,
// a few times a second, and at the end. A scan that ctx ends keeps the files
// that it finished.
func (s *Scanner) Scan(ctx context.Context, progress func(Progress)) (*Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scan(ctx, progress)
}

func (s *Scanner) scan(ctx context.Context, progress func(Progress)) (*Report, error) {
	var remembered sync.WaitGroup
	if s.files == nil {
		remembered.Go(func() {
			if s.files, s.last = load(s.index, s.zone); s.files == nil {
				s.files = map[string]*known{}
			}
		})
	}
	list, err := s.roots.find()
	remembered.Wait()
	if err != nil {
		return nil, fmt.Errorf("look for transcripts: %w", err)
	}
	r := &Report{At: time.Now(), Files: len(list)}
	changed := s.forget(list)
	var stale []found
	for _, f := range list {
		r.Bytes += f.size
		if !s.files[f.path].fresh(f.stamp) {
			stale = append(stale, f)
		}
	}
	if len(stale) > 0 {
		moved, err := s.read(ctx, stale, r, progress)
		changed = changed || moved
		if err != nil {
			return nil, err
		}
	}
	if !changed && s.last != nil && r.Unread == 0 && s.last.Unread == 0 {
		r.Sums, r.Limits, r.Long = s.last.Sums, s.last.Limits, s.last.Long
	} else {
		s.sum(list, r)
	}
	if s.unsaved >= worth && s.index != "" {
		if r.Unsaved = save(s.index, s.zone, r, s.files); r.Unsaved == nil {
			s.unsaved = 0
		}
	}
	s.last = r
	return r, nil
}

// forget drops the files that are gone, and reports whether there were any.
func (s *Scanner) forget(list []found) bool {
	had := len(s.files)
	there := make(map[string]struct{}, len(list))
	for _, f := range list {
		there[f.path] = struct{}{}
	}
	maps.DeleteFunc(s.files, func(path string, _ *known) bool {
		_, ok := there[path]
		return !ok
	})
	return len(s.files) < had
}

// done is a file that was read; known is nil where it could not be.
type done struct {
	path  string
	known *known
	err   error
}

// read reads files, the largest first, so that no worker is left with it at the
// end. It reports whether anything was told that had not been.
func (s *Scanner) read(ctx context.Context, stale []found, r *Report, progress func(Progress)) (moved bool, err error) {
	var total, past atomic.Int64
	for _, f := range stale {
		total.Add(f.size - s.files[f.path].from(f.stamp))
	}
	slices.SortStableFunc(stale, func(a, b found) int { return cmp.Compare(b.size, a.size) })
	var next atomic.Int64
	var big rare
	out := make(chan done, 64)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(stale)) {
		workers.Go(func() {
			rd := reader{ctx: ctx, lines: newLines(&big), names: tally.Names{}, past: &past}
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(stale) {
					return
				}
				k, err := rd.update(s.files[stale[i].path], stale[i])
				out <- done{stale[i].path, k, err}
			}
		})
	}
	go func() {
		workers.Wait()
		close(out)
	}()
	// The map is read by the workers while they run: it is changed behind them.
	var finished []done
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for open := true; open; {
		select {
		case d, ok := <-out:
			if open = ok; ok {
				finished = append(finished, d)
			}
		case <-tick.C:
			tell(progress, Progress{min(past.Load(), total.Load()), total.Load()})
		}
	}
	for _, d := range finished {
		switch was := s.files[d.path]; {
		case d.err != nil && ctx.Err() == nil:
			r.Unread++
			delete(s.files, d.path)
			moved = moved || was != nil
		case d.err != nil:
		case d.known == nil:
			delete(s.files, d.path)
			moved = moved || was != nil
		default:
			// A last line without an end is read each time: it is no news by itself.
			moved = moved || was == nil || was.stamp != d.known.stamp || was.read != d.known.read
			s.files[d.path] = d.known
		}
	}
	r.Read = past.Load()
	s.unsaved += r.Read + int64(len(finished))*4096
	if err := ctx.Err(); err != nil {
		s.last = nil // it knows less than the files that were finished
		return moved, err
	}
	tell(progress, Progress{total.Load(), total.Load()})
	return moved, nil
}

func tell(progress func(Progress), p Progress) {
	if progress != nil {
		progress(p)
	}
}

// sum sums up what the files told.
func (s *Scanner) sum(list []found, r *Report) {
	var transcripts [][]tally.Entry
	var rollouts []*tally.Rollout
	for _, f := range list {
		k := s.files[f.path]
		if k == nil {
			continue
		}
		r.Long += k.long
		if f.vendor == tally.Claude {
			transcripts = append(transcripts, k.all())
		} else {
			rollouts = append(rollouts, k.told())
		}
	}
	var codex []tally.Sum
	var other sync.WaitGroup
	other.Go(func() { codex = tally.CodexSums(rollouts, s.zone) })
	r.Sums = tally.ClaudeSums(transcripts, s.zone)
	other.Wait()
	r.Sums = append(r.Sums, codex...)
	r.Limits = tally.CodexLimits(rollouts)
}
