package exec

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline/internal/wire"
)

// kimi is `kimi -p … --output-format stream-json`. Only a sign-out was seen: it
// is on the standard error, behind the version on the standard output. Its
// limits come as 403 (see the shared statuses).
var kimi = program{frame: func(r *Reader, f gjson.Result, at time.Time) []wire.Event {
	switch {
	case f.Get("type").String() == "error":
		return r.errored(f, at)
	case f.Get("role").String() == "meta" && f.Get("type").String() == "system.version":
		return nil
	}
	return r.fold.Unknown(r.line, f.Get("type").String(), "")
}}
