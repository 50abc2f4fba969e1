package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Millis is a time as rows hold it: unix milliseconds, so that one instant in
// two zones compares equal and no database's own idea of a timestamp matters.
// The zero time is 0. It is read back in UTC.
type Millis struct{ time.Time }

// Value implements driver.Valuer.
func (m Millis) Value() (driver.Value, error) {
	if m.IsZero() {
		return int64(0), nil
	}
	return m.UnixMilli(), nil
}

// Scan implements sql.Scanner.
func (m *Millis) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is a %T, not unix milliseconds", v)
	}
	m.Time = time.Time{}
	if n != 0 {
		m.Time = time.UnixMilli(n).UTC()
	}
	return nil
}

// JSON is a value that a row holds as JSON. Fields that this build does not
// know are passed over, and lost when it writes the row again.
type JSON[T any] struct{ V T }

// Value implements driver.Valuer. It is a string because bytes would become a
// BLOB, which a strict TEXT column refuses.
func (j JSON[T]) Value() (driver.Value, error) {
	b, err := json.Marshal(j.V)
	return string(b), err
}

// Scan implements sql.Scanner.
func (j *JSON[T]) Scan(v any) error {
	switch v := v.(type) {
	case string:
		return json.Unmarshal([]byte(v), &j.V)
	case []byte:
		return json.Unmarshal(v, &j.V)
	}
	return fmt.Errorf("JSON is a %T, not text", v)
}

// readable makes text of a program's own words fit for a text column, which in
// PostgreSQL holds neither NUL nor broken UTF-8. What people wrote is kept byte
// for byte instead, as bytes.
func readable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// word reads an enumeration by its stable text.
type word struct {
	to interface{ UnmarshalText([]byte) error }
}

// Scan implements sql.Scanner.
func (w word) Scan(v any) error {
	switch v := v.(type) {
	case string:
		return w.to.UnmarshalText([]byte(v))
	case []byte:
		return w.to.UnmarshalText(v)
	}
	return fmt.Errorf("a word is a %T, not text", v)
}
