package usage

import (
	"context"
	"errors"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"

	"github.com/paceline/paceline/internal/usage/tally"
)

// known is what a file told, and how far it was read.
type known struct {
	stamp
	// read is where its last whole line ended. What follows is told in tail, and
	// read again the next time.
	read int64
	// print is of the bytes before read, at both ends: a file that only grew
	// still has them.
	print uint64
	long  int // lines that were too long to be read

	entries []tally.Entry  // Claude
	tail    []tally.Entry  // Claude: of a last line that has no end yet
	rollout *tally.Rollout // Codex
	tailed  *tally.Rollout // Codex: with such a line; nil where there is none
}

// fresh reports whether nothing is to be read.
func (k *known) fresh(s stamp) bool {
	return k != nil && k.stamp == s && k.read == s.size
}

// from is how many bytes of a file need not be read, as far as its stamp tells.
func (k *known) from(s stamp) int64 {
	if k == nil || k.inode != s.inode || k.read > s.size {
		return 0
	}
	return k.read
}

// all is what the file told, its last line included.
func (k *known) all() []tally.Entry {
	if len(k.tail) == 0 {
		return k.entries
	}
	return append(k.entries[:len(k.entries):len(k.entries)], k.tail...)
}

func (k *known) told() *tally.Rollout {
	if k.tailed != nil {
		return k.tailed
	}
	return k.rollout
}

// edge is how many bytes at either end of what was read are remembered.
const edge = 256

var table = crc64.MakeTable(crc64.ECMA)

// print is the mark of the file's bytes before end.
func print(f io.ReaderAt, end int64) (uint64, error) {
	var b [2 * edge]byte
	n := min(end, edge)
	if _, err := f.ReadAt(b[:n], 0); err != nil {
		return 0, err
	}
	if _, err := f.ReadAt(b[edge:edge+n], end-n); err != nil {
		return 0, err
	}
	return crc64.Checksum(b[:], table) ^ uint64(end), nil
}

// reader reads files, one after the other.
type reader struct {
	lines *lines
	names tally.Names
	past  *atomic.Int64 // bytes that were read
	ctx   context.Context
}

// update reads what k does not have of the file; k may be nil. Whatever cannot
// be read is none: the file was removed, or is not ours. The result shares
// nothing with k that is written to later.
func (r *reader) update(k *known, file found) (*known, error) {
	f, err := os.Open(file.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	next := &known{stamp: file.stamp}
	if at := k.from(file.stamp); at > 0 {
		if p, err := print(f, at); err == nil && p == k.print {
			next.read, next.long, next.entries, next.rollout = k.read, k.long, slices.Clone(k.entries), k.rollout
		}
	}
	if file.vendor == tally.Codex && next.rollout == nil {
		next.rollout = &tally.Rollout{}
	} else if next.rollout != nil {
		next.rollout = next.rollout.Clone()
	}
	if _, err := f.Seek(next.read, io.SeekStart); err != nil {
		return nil, err
	}
	whole, long, err := r.lines.read(&counted{io.LimitReader(f, file.size-next.read), r}, r.visit(next, file), r.last(next, file))
	if err != nil {
		return nil, err
	}
	next.read += whole
	next.long += long
	if next.read > 0 {
		if next.print, err = print(f, next.read); err != nil {
			return nil, nil //nolint:nilerr // it was cut while it was read: the next look begins anew
		}
	}
	return next, nil
}

// visit takes whole lines.
func (r *reader) visit(k *known, file found) func(b []byte) {
	if file.vendor == tally.Claude {
		return func(b []byte) {
			marked(b, tally.ClaudeMark, nil, func(row []byte) {
				k.entries = tally.ClaudeRow(k.entries, row, file.session, r.names)
			})
		}
	}
	return func(b []byte) {
		k.rollout.Begin(b)
		marked(b, tally.CodexMark, tally.CodexMarked, func(row []byte) { k.rollout.Row(row, r.names) })
	}
}

// last takes a last line that has no end yet. It may be whole, and then counts;
// it is not kept.
func (r *reader) last(k *known, file found) func(b []byte) {
	if file.vendor == tally.Claude {
		return func(b []byte) {
			marked(b, tally.ClaudeMark, nil, func(row []byte) {
				k.tail = tally.ClaudeRow(nil, row, file.session, r.names)
			})
		}
	}
	return func(b []byte) {
		k.tailed = k.rollout.Clone()
		k.tailed.Begin(b)
		marked(b, tally.CodexMark, tally.CodexMarked, func(row []byte) { k.tailed.Row(row, r.names) })
	}
}

// counted tells of what passes, and ends with the reader's context.
type counted struct {
	io.Reader
	to *reader
}

func (c *counted) Read(b []byte) (int, error) {
	if err := c.to.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.Reader.Read(b)
	c.to.past.Add(int64(n))
	return n, err
}
