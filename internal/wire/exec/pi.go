package exec

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline/internal/wire"
)

// pi is `pi -p --mode json`. Only a missing key was seen: it is on the standard
// error, behind the session's line on the standard output.
var pi = program{frame: func(r *Reader, f gjson.Result, at time.Time) []wire.Event {
	switch f.Get("type").String() {
	case "error":
		return r.errored(f, at)
	case "session":
		return r.opened(f.Get("id").String())
	}
	return r.fold.Unknown(r.line, f.Get("type").String(), "")
}}
