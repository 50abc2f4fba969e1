package exec

import (
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline/internal/wire"
)

// grok is `grok -p … --output-format streaming-json`. Only a sign-out was seen:
// an error line, repeated on the standard error, and exit 1.
var grok = program{frame: func(r *Reader, f gjson.Result, at time.Time) []wire.Event {
	if f.Get("type").String() == "error" {
		return r.errored(f, at)
	}
	return r.fold.Unknown(r.line, f.Get("type").String(), "")
}}
