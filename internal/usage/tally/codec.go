package tally

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/paceline/paceline/internal/quota"
)

// Version is of the rules by which rows are read, and of the form in which what
// they told is written. What an older version wrote is not read.
const Version = 2

// Encoder writes what files told, in a form that is short and read back fast.
type Encoder struct {
	B     []byte
	names map[string]uint64
	at    int64 // the last moment written: the next one is near it
}

func (e *Encoder) Uint(n uint64) { e.B = binary.AppendUvarint(e.B, n) }
func (e *Encoder) Int(n int64)   { e.B = binary.AppendVarint(e.B, n) }

func (e *Encoder) Text(s string) {
	e.Uint(uint64(len(s)))
	e.B = append(e.B, s...)
}

// name writes a name once, and its number from then on.
func (e *Encoder) name(s string) {
	if n, ok := e.names[s]; ok {
		e.Uint(n)
		return
	}
	if e.names == nil {
		e.names = map[string]uint64{}
	}
	e.Uint(0)
	e.Text(s)
	e.names[s] = uint64(len(e.names)) + 1
}

func (e *Encoder) moment(ms int64) {
	e.Int(ms - e.at)
	e.at = ms
}

func (e *Encoder) tokens(t Tokens) {
	for _, n := range []uint64{t.Input, t.Output, t.CacheWrite, t.CacheRead, t.Reasoning, t.Total} {
		e.Uint(n)
	}
}

func (e *Encoder) flags(bits ...bool) {
	var n byte
	for i, b := range bits {
		if b {
			n |= 1 << i
		}
	}
	e.B = append(e.B, n)
}

// Entries writes what a transcript told.
func (e *Encoder) Entries(list []Entry) {
	e.Uint(uint64(len(list)))
	for i := range list {
		r := &list[i]
		e.B = binary.LittleEndian.AppendUint64(e.B, r.Key)
		e.B = binary.LittleEndian.AppendUint64(e.B, r.Talk)
		e.moment(r.At)
		e.name(r.Model)
		e.tokens(r.Tokens)
		e.Uint(r.Price)
		e.flags(r.Side, r.Fast, r.Speed)
	}
}

// Rollout writes what a rollout told, and where it stands.
func (e *Encoder) Rollout(r *Rollout) {
	e.Text(r.ID)
	e.Text(r.Parent)
	e.Int(r.Forked)
	e.name(r.Model)
	e.flags(r.begun, r.counted)
	for _, n := range r.before.parts() {
		e.Uint(*n)
	}
	e.Uint(uint64(len(r.Early)))
	for _, ms := range r.Early {
		e.moment(ms)
	}
	e.Uint(uint64(len(r.Events)))
	for _, v := range r.Events {
		e.moment(v.At)
		e.name(v.Model)
		e.tokens(v.Cost)
	}
	e.Limits(r.Limits)
}

// Limits writes readings of windows.
func (e *Encoder) Limits(list []quota.Reading) {
	e.Uint(uint64(len(list)))
	for _, w := range list {
		e.name(w.Limit)
		e.name(w.Name)
		e.Int(int64(w.Length))
		e.Uint(math.Float64bits(w.Used))
		e.flags(w.Reached, w.Covered, !w.Resets.IsZero())
		if !w.Resets.IsZero() {
			e.moment(w.Resets.UnixMilli())
		}
		e.moment(w.Observed.UnixMilli())
	}
}

// Sums writes sums.
func (e *Encoder) Sums(list []Sum) {
	e.Uint(uint64(len(list)))
	for _, s := range list {
		e.name(s.Day)
		e.Uint(uint64(s.Vendor))
		e.name(s.Model)
		e.tokens(s.Tokens)
	}
}

func (s *spent) parts() []*uint64 {
	return []*uint64{&s.in, &s.read, &s.write, &s.out, &s.reason, &s.total}
}

// Decoder reads what an Encoder wrote. The first fault ends it: everything that
// is read from then on is zero.
type Decoder struct {
	B     []byte
	Bad   bool
	names []string
	at    int64
}

var errBroken = errors.New("what was remembered is broken")

// Err says whether anything was wrong.
func (d *Decoder) Err() error {
	if d.Bad {
		return errBroken
	}
	return nil
}

func (d *Decoder) drop() { d.B, d.Bad = nil, true }

func (d *Decoder) Uint() uint64 {
	n, size := binary.Uvarint(d.B)
	if size <= 0 {
		d.drop()
		return 0
	}
	d.B = d.B[size:]
	return n
}

func (d *Decoder) Int() int64 {
	n, size := binary.Varint(d.B)
	if size <= 0 {
		d.drop()
		return 0
	}
	d.B = d.B[size:]
	return n
}

// Count reads how many things follow, each of so many bytes at least: more than
// there are bytes for is a fault, and no reason to ask for memory.
func (d *Decoder) Count(least int) int {
	n := d.Uint()
	if n > uint64(len(d.B)/least) {
		d.drop()
		return 0
	}
	return int(n)
}

func (d *Decoder) Text() string {
	n := d.Count(1)
	s := string(d.B[:n])
	d.B = d.B[n:]
	return s
}

func (d *Decoder) fixed() uint64 {
	if len(d.B) < 8 {
		d.drop()
		return 0
	}
	n := binary.LittleEndian.Uint64(d.B)
	d.B = d.B[8:]
	return n
}

func (d *Decoder) name() string {
	n := d.Uint()
	switch {
	case n == 0:
		s := d.Text()
		d.names = append(d.names, s)
		return s
	case n > uint64(len(d.names)):
		d.drop()
		return ""
	}
	return d.names[n-1]
}

func (d *Decoder) moment() int64 {
	d.at += d.Int()
	return d.at
}

func (d *Decoder) tokens() (t Tokens) {
	for _, to := range []*uint64{&t.Input, &t.Output, &t.CacheWrite, &t.CacheRead, &t.Reasoning, &t.Total} {
		*to = d.Uint()
	}
	return t
}

func (d *Decoder) flags(to ...*bool) {
	if len(d.B) == 0 {
		d.drop()
		return
	}
	for i, b := range to {
		*b = d.B[0]>>i&1 == 1
	}
	d.B = d.B[1:]
}

// Entries reads what a transcript told.
func (d *Decoder) Entries() []Entry {
	n := d.Count(24)
	if n == 0 {
		return nil
	}
	out := make([]Entry, n)
	for i := range out {
		r := &out[i]
		r.Key, r.Talk, r.At, r.Model, r.Tokens, r.Price = d.fixed(), d.fixed(), d.moment(), d.name(), d.tokens(), d.Uint()
		d.flags(&r.Side, &r.Fast, &r.Speed)
	}
	return out
}

// Rollout reads what a rollout told.
func (d *Decoder) Rollout() *Rollout {
	r := &Rollout{ID: d.Text(), Parent: d.Text(), Forked: d.Int(), Model: d.name()}
	d.flags(&r.begun, &r.counted)
	for _, n := range r.before.parts() {
		*n = d.Uint()
	}
	for range d.Count(1) {
		r.Early = append(r.Early, d.moment())
	}
	r.Events = make([]Event, d.Count(8))
	for i := range r.Events {
		r.Events[i] = Event{At: d.moment(), Model: d.name(), Cost: d.tokens()}
	}
	r.Limits = d.Limits()
	return r
}

// Limits reads readings of windows.
func (d *Decoder) Limits() (out []quota.Reading) {
	for range d.Count(4) {
		w := quota.Reading{Window: quota.Window{Limit: d.name(), Name: d.name(), Length: time.Duration(d.Int())}, Source: quota.SourceRollout}
		w.Used = math.Float64frombits(d.Uint())
		var known bool
		d.flags(&w.Reached, &w.Covered, &known)
		if known {
			w.Resets = time.UnixMilli(d.moment()).UTC()
		}
		w.Observed = time.UnixMilli(d.moment()).UTC()
		out = append(out, w)
	}
	return out
}

// Sums reads sums.
func (d *Decoder) Sums() []Sum {
	n := d.Count(9)
	out := make([]Sum, 0, n)
	for range n {
		out = append(out, Sum{Day: d.name(), Vendor: Vendor(d.Uint()), Model: d.name(), Tokens: d.tokens()})
	}
	return out
}
