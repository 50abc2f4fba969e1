package usage

import (
	"bytes"
	"encoding/binary"
	"hash/crc64"
	"os"
	"path/filepath"
	"time"

	"github.com/paceline/paceline/internal/usage/tally"
)

// The index is what all files told, so that the next start reads only what is
// new. It is a cache: one that is broken, or of another version, is no index,
// and everything is read again. A line without an end is never in it.
//
// It has what the files came to as well, so that a start that finds nothing new
// sums nothing up.
var heading = append([]byte("paceline usage "), '0'+tally.Version, '\n')

func load(path string, zone *time.Location) (map[string]*known, *Report) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	body, ok := bytes.CutPrefix(b, heading)
	if !ok || len(body) < 8 {
		return nil, nil
	}
	body, sum := body[:len(body)-8], body[len(body)-8:]
	if crc64.Checksum(body, table) != binary.LittleEndian.Uint64(sum) {
		return nil, nil
	}
	d := tally.Decoder{B: body}
	sameDays := d.Text() == days(zone)
	last := &Report{Sums: d.Sums(), Limits: d.Limits(), Long: int(d.Uint())}
	out := make(map[string]*known, d.Count(8))
	for len(d.B) > 0 {
		path := d.Text()
		k := &known{stamp: stamp{size: d.Int(), modified: d.Int(), inode: d.Uint()}, read: d.Int(), print: d.Uint(), long: int(d.Uint())}
		switch tally.Vendor(d.Uint()) {
		case tally.Codex:
			k.rollout = d.Rollout()
		case tally.Claude:
			k.entries = d.Entries()
		default:
			return nil, nil
		}
		out[path] = k
	}
	if d.Err() != nil {
		return nil, nil
	}
	if !sameDays {
		last = nil
	}
	return out, last
}

// save replaces the index. Two processes that do so at once leave one of
// theirs, whole.
func save(path string, zone *time.Location, r *Report, files map[string]*known) error {
	var e tally.Encoder
	e.Text(days(zone))
	e.Sums(r.Sums)
	e.Limits(r.Limits)
	e.Uint(uint64(r.Long))
	e.Uint(uint64(len(files)))
	for path, k := range files {
		e.Text(path)
		e.Int(k.size)
		e.Int(k.modified)
		e.Uint(k.inode)
		e.Int(k.read)
		e.Uint(k.print)
		e.Uint(uint64(k.long))
		if k.rollout != nil {
			e.Uint(uint64(tally.Codex))
			e.Rollout(k.rollout)
			continue
		}
		e.Uint(uint64(tally.Claude))
		e.Entries(k.entries)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(sealed(e.B)); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// sealed is an index with this body.
func sealed(body []byte) []byte {
	out := make([]byte, 0, len(heading)+len(body)+8)
	out = append(append(out, heading...), body...)
	return binary.LittleEndian.AppendUint64(out, crc64.Checksum(body, table))
}

// days tells zones apart, of which the user's own is always named the same.
func days(zone *time.Location) string {
	const form = "-0700 MST "
	return time.Date(2026, 1, 1, 0, 0, 0, 0, zone).Format(form) + time.Date(2026, 7, 1, 0, 0, 0, 0, zone).Format(form) + zone.String()
}
