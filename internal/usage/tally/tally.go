// Package tally reads the rows in which the vendors' programs write down what
// each answer cost, and sums them up: rows in, sums out, no file is seen.
//
// The same answer stands in many rows: one for each of its blocks, again in
// every conversation that was resumed from the first, again in what a
// subagent's file repeats of its parent's. Which of them count, and which of
// two that differ, was found out by asking ccusage 20.0.24 about thousands of
// made-up trees; the sums are the same as its, to the token, oddities included,
// so that a user who compares the two is not left with a difference to explain.
//
// What a file told is kept in the order in which it told it. The sums depend on
// that order and on the order of the paths, and on nothing else: a scan that
// reads only what is new comes to the sums of one that reads everything.
package tally

import (
	"cmp"
	"slices"
	"time"
)

// Vendor says whose files a sum is of.
type Vendor uint8

const (
	Claude Vendor = iota
	Codex
)

func (v Vendor) String() string {
	if v == Codex {
		return "codex"
	}
	return "claude"
}

// Tokens is what answers cost. Input is what was neither read from a cache nor
// written to one.
type Tokens struct {
	Input, Output, CacheWrite, CacheRead uint64
	Reasoning                            uint64 // within Output; Codex only
	Total                                uint64 // as the vendor counts it
}

func (t *Tokens) add(o Tokens) {
	t.Input += o.Input
	t.Output += o.Output
	t.CacheWrite += o.CacheWrite
	t.CacheRead += o.CacheRead
	t.Reasoning += o.Reasoning
	t.Total += o.Total
}

// Sum is one day's use of one model.
type Sum struct {
	Day    string // 2026-12-07, in the zone that was asked for
	Vendor Vendor
	// Model is as the vendor names it, with -fast where the fast mode was billed.
	// "" and "<synthetic>" are rows of no model: they count for the day alone.
	Model string
	Tokens
}

// Names makes one string of each name that is met again and again.
type Names map[string]string

func (n Names) of(b []byte) string {
	if s, ok := n[string(b)]; ok {
		return s
	}
	s := string(b)
	n[s] = s
	return s
}

// days sums by day, vendor and model.
type days struct {
	zone *time.Location
	sums map[bucket]*Tokens
	// The last day and its bounds: rows come in order, mostly.
	from, to int64
	day      string
}

type bucket struct {
	day, model string
	vendor     Vendor
}

func newDays(zone *time.Location) *days {
	return &days{zone: zone, sums: map[bucket]*Tokens{}}
}

// at is the day of a moment, in milliseconds.
func (d *days) at(ms int64) string {
	if ms < d.from || ms >= d.to {
		t := time.UnixMilli(ms).In(d.zone)
		y, m, day := t.Date()
		d.from = time.Date(y, m, day, 0, 0, 0, 0, d.zone).UnixMilli()
		d.to = time.Date(y, m, day+1, 0, 0, 0, 0, d.zone).UnixMilli()
		d.day = t.Format(time.DateOnly)
	}
	return d.day
}

func (d *days) add(v Vendor, ms int64, model string, t Tokens) {
	k := bucket{d.at(ms), model, v}
	sum := d.sums[k]
	if sum == nil {
		sum = &Tokens{}
		d.sums[k] = sum
	}
	sum.add(t)
}

func (d *days) sorted() []Sum {
	out := make([]Sum, 0, len(d.sums))
	for k, t := range d.sums {
		out = append(out, Sum{Day: k.day, Vendor: k.vendor, Model: k.model, Tokens: *t})
	}
	slices.SortFunc(out, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.Model, b.Model))
	})
	return out
}

// moment reads the one form of a time that counts, in milliseconds:
// 2026-12-07T10:00:00Z, with three digits of a second or none, and with an
// offset in place of the Z.
func moment(b []byte) (ms int64, ok bool) {
	const form = "2006-01-02T15:04:05"
	if len(b) < len(form)+1 {
		return 0, false
	}
	rest := b[len(form):]
	if rest[0] == '.' {
		if len(rest) < 5 || !digit(rest[1]) || !digit(rest[2]) || !digit(rest[3]) {
			return 0, false
		}
		ms = int64(rest[1]-'0')*100 + int64(rest[2]-'0')*10 + int64(rest[3]-'0')
		rest = rest[4:]
	}
	var east int64
	switch {
	case len(rest) == 1 && rest[0] == 'Z':
	case len(rest) == 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':':
		h, okH := pair(rest[1:])
		m, okM := pair(rest[4:])
		if !okH || !okM || h > 23 || m > 59 {
			return 0, false
		}
		if east = int64(h)*60 + int64(m); rest[0] == '-' {
			east = -east
		}
	default:
		return 0, false
	}
	f := b[:len(form)]
	century, ok1 := pair(f[0:])
	year, ok2 := pair(f[2:])
	month, ok3 := pair(f[5:])
	day, ok4 := pair(f[8:])
	hour, ok5 := pair(f[11:])
	minute, ok6 := pair(f[14:])
	second, ok7 := pair(f[17:])
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !ok7 ||
		f[4] != '-' || f[7] != '-' || f[10] != 'T' || f[13] != ':' || f[16] != ':' ||
		hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	t := time.Date(century*100+year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if t.Day() != day || t.Month() != time.Month(month) {
		return 0, false // 30 February
	}
	return t.UnixMilli() + ms - east*60_000, true
}

func digit(b byte) bool { return '0' <= b && b <= '9' }

func pair(b []byte) (int, bool) {
	if !digit(b[0]) || !digit(b[1]) {
		return 0, false
	}
	return int(b[0]-'0')*10 + int(b[1]-'0'), true
}

// count reads a number of tokens: no sign, no fraction, no exponent.
func count(b []byte) (n uint64, ok bool) {
	for _, ch := range b {
		if !digit(ch) || n > (1<<64-1)/10 {
			return 0, false
		}
		next := n*10 + uint64(ch-'0')
		if next < n*10 {
			return 0, false
		}
		n = next
	}
	return n, len(b) > 0
}

// key is a number for a few texts, the same in every process. Two different
// ones of a million share theirs with a chance of one in tens of millions.
type key uint64

const newKey key = 14695981039346656037

func (k key) text(b []byte) key {
	for _, ch := range b {
		k = (k ^ key(ch)) * 1099511628211
	}
	return (k ^ 0xff) * 1099511628211 // where it ends; no text has this byte
}

func (k key) number(n int64) key {
	for range 8 {
		k = (k ^ key(n&0xff)) * 1099511628211
		n >>= 8
	}
	return k
}

// sum mixes the bits once more, and is never 0, which stands for no key.
func (k key) sum() uint64 {
	k ^= k >> 32
	k *= 0x9e3779b97f4a7c15
	k ^= k >> 29
	return max(uint64(k), 1)
}
