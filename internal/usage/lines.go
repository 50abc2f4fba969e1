package usage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"sync"
)

const (
	// window is what is read in one go. It stays in the processor's cache while
	// it is searched.
	window = 256 << 10
	// longest is the longest row that is read. A longer one is passed over.
	longest = 32 << 20
)

// lines reads files line by line through one buffer. Most lines are never
// looked at: a reader is given as many whole ones as the buffer holds.
type lines struct {
	buf  []byte
	rare *rare
}

// rare is the buffer for lines that are longer than a window. All readers share
// it: they are few, and many workers are not to hold one each.
type rare struct {
	mu  sync.Mutex
	buf []byte
}

func newLines(r *rare) *lines { return &lines{buf: make([]byte, window), rare: r} }

// read gives whole lines to visit, and what follows the last of them to tail.
// It returns how many bytes the whole lines have, and how many lines were too
// long. Each line given ends with its newline.
func (l *lines) read(f io.Reader, visit, tail func(b []byte)) (whole int64, long int, err error) {
	have, searched := 0, 0
	for {
		n, err := f.Read(l.buf[have:])
		have += n
		if end := start(l.buf[searched:have]); end > 0 {
			end += searched
			visit(l.buf[:end])
			whole += int64(end)
			have = copy(l.buf, l.buf[end:have])
		}
		searched = have
		switch {
		case errors.Is(err, io.EOF):
			if have > 0 {
				tail(l.buf[:have])
			}
			return whole, long, nil
		case err != nil:
			return whole, long, err
		case have < len(l.buf):
			continue
		}
		size, rest, over, err := l.long(f, visit, tail)
		whole += size
		have, searched = rest, 0 // whole lines among them
		if over {
			long++
		}
		if err != nil {
			return whole, long, err
		}
	}
}

// long reads on in a line that fills the buffer. It leaves in the buffer what
// was read behind the line. Over says that the line was too long to be read.
func (l *lines) long(f io.Reader, visit, tail func(b []byte)) (size int64, rest int, over bool, err error) {
	l.rare.mu.Lock()
	defer l.rare.mu.Unlock()
	b := append(l.rare.buf[:0], l.buf...)
	size = int64(len(b))
	for {
		n, err := f.Read(l.buf)
		got := l.buf[:n]
		end := bytes.IndexByte(got, '\n') + 1
		if end > 0 {
			got = got[:end]
		}
		size += int64(len(got))
		if over = over || len(b)+len(got) > longest; !over {
			b = append(b, got...)
		}
		l.rare.buf = b[:0]
		switch {
		case end > 0:
			if !over {
				visit(b)
			}
			return size, copy(l.buf, l.buf[end:n]), over, nil
		case errors.Is(err, io.EOF):
			if !over {
				tail(b)
			}
			return 0, 0, over, nil
		case err != nil:
			return 0, 0, over, err
		}
	}
}

// marked calls visit with each line of b, whole lines, that has the mark. Only
// the mark is searched for; lines without one are never told apart. Fits may
// refuse a mark by what follows it.
func marked(b, mark []byte, fits func(b []byte) bool, visit func(line []byte)) {
	begin, at := 0, 0 // of the line that is searched, and where in it
	for {
		i := find(b[at:], mark)
		if i < 0 {
			return
		}
		i += at
		if fits != nil && !fits(b[i:]) {
			at = i + len(mark)
			continue
		}
		begin += start(b[begin:i])
		end := bytes.IndexByte(b[i:], '\n')
		if end < 0 {
			visit(b[begin:])
			return
		}
		visit(b[begin : i+end])
		begin = i + end + 1
		at = begin
	}
}

// find is bytes.Index, which goes from one first byte to the next, and so stops
// at every quote: this one stops at the letter of the mark that text has least.
// Where that is not scarce, it lets the other do it.
func find(b, mark []byte) int {
	off := max(bytes.IndexByte(mark, 'g'), bytes.IndexByte(mark, 'y'))
	scarce := mark[off]
	stops := 0
	for i := off; i < len(b); i++ {
		n := bytes.IndexByte(b[i:], scarce)
		if n < 0 {
			return -1
		}
		i += n
		if from := i - off; bytes.HasPrefix(b[from:], mark) {
			return from
		}
		if stops++; stops > 64+i/16 {
			from := i - off + 1
			if n := bytes.Index(b[from:], mark); n >= 0 {
				return from + n
			}
			return -1
		}
	}
	return -1
}

// start is where the last line of b begins, behind the last newline. It looks
// backward, eight bytes in one go, which bytes.LastIndexByte does not: what a
// row tells of its cost stands near its end.
func start(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := len(b)
	for ; i >= 8; i -= 8 {
		w := binary.LittleEndian.Uint64(b[i-8:]) ^ ones*'\n'
		if hit := (w - ones) &^ w & highs; hit != 0 {
			// A borrow may mark a byte above the one that is meant: ask it itself.
			for j := i - 8 + (63-bits.LeadingZeros64(hit))/8; ; j-- {
				if b[j] == '\n' {
					return j + 1
				}
			}
		}
	}
	for ; i > 0; i-- {
		if b[i-1] == '\n' {
			return i
		}
	}
	return 0
}
