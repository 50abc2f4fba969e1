package exec

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/paceline/paceline/internal/notice"
	"github.com/paceline/paceline/internal/wire"
)

// copilot is `copilot -p … --output-format json`. Only its failures were seen:
// a sign-out on the standard error, and "✘ Execution failed: 402 {…}". Every
// other frame is unknown, and proves nothing.
var copilot = program{frame: copilotFrame, stderr: copilotStderr}

func copilotFrame(r *Reader, f gjson.Result, at time.Time) []wire.Event {
	if f.Get("type").String() == "error" {
		return r.errored(f, at)
	}
	return r.fold.Unknown(r.line, f.Get("type").String(), "")
}

func copilotStderr(r *Reader, text string, at time.Time) []wire.Event {
	for _, head := range []string{"Execution failed: ", "Model call failed: "} {
		_, said, ok := strings.Cut(text, head)
		if !ok {
			continue
		}
		c := notice.Call{Status: leading(said), Text: said}
		if c.Status != 0 {
			c.Text = said[4:]
		}
		f := notice.Read(c, at).Failure()
		r.said = &f
	}
	return nil
}
