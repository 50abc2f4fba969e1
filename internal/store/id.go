package store

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"
)

// digits sort as they count, and hold no letter that reads as another.
const digits = "0123456789abcdefghjkmnpqrstvwxyz"

// An id is 55 bits: 35 of time, in steps of 64 ms since the beginning of 2026
// (enough until 2095), and 20 that are random. Two processes that draw in the
// same step collide once in a million; the primary key then refuses the second.
const (
	idSize  = 11
	idRoom  = 20 // random bits
	idShift = 6  // a step is 2^6 ms
)

var idEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// ids remembers the last id of this process, so that its own sort in the order
// in which they were made and never meet.
var ids struct {
	sync.Mutex
	last uint64
}

// NewID returns a new id such as "r-0bq8f2m1kd4": short enough to type, and
// sorting by the time it was made.
func NewID(prefix string) string {
	var b [8]byte
	rand.Read(b[:]) // never fails: it ends the program instead
	steps := max(time.Since(idEpoch).Milliseconds(), 0) >> idShift
	id := uint64(steps)<<idRoom | binary.LittleEndian.Uint64(b[:])>>(64-idRoom)
	ids.Lock()
	id = max(id, ids.last+1)
	ids.last = id
	ids.Unlock()
	var text [idSize]byte
	for i := idSize - 1; i >= 0; i-- {
		text[i] = digits[id&31]
		id >>= 5
	}
	return prefix + "-" + string(text[:])
}
