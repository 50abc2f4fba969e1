package supervisor

import (
	"context"
	"strconv"

	"github.com/paceline/paceline/internal/wire"
)

// call is a tool that the engine called.
type call struct {
	id       string
	about    string
	looks    bool // it can change nothing
	reported bool
	goesOn   bool // in the background, as the model was told
}

// called keeps a call before its effect can be over. It is on record at once:
// one that never reports must be known after any crash.
func (d *drive) called(ctx context.Context, e wire.Event) {
	d.calls = append(d.calls, call{id: e.ID, about: about(e.Name, e.Detail), looks: e.OK})
	body := map[string]string{"name": e.Name, "about": e.Detail, "n": strconv.Itoa(len(d.calls))}
	if e.OK {
		body["looks"] = "only"
	}
	d.item("tool", body)
	d.keep(ctx)
}

// reported keeps how a call ended: n is which call of the run it was.
func (d *drive) reported(e wire.Event) {
	for i := range d.calls {
		if c := &d.calls[i]; c.id == e.ID && (!c.reported || c.goesOn) {
			c.reported, c.goesOn = true, e.Detail == wire.Background
			body := map[string]string{"n": strconv.Itoa(i + 1), "ok": strconv.FormatBool(e.OK)}
			if c.goesOn {
				body["left"] = "running"
			}
			d.item("result", body)
			return
		}
	}
}

// silent names the calls that began and never reported, but for those that can
// only look: nothing depends on their outcome.
func (d *drive) silent() (out []string) {
	for _, c := range d.calls {
		if !c.reported && !c.looks {
			out = append(out, c.about)
		}
	}
	return out
}

// about is a call in one line.
func about(name, detail string) string {
	if detail == "" {
		return name
	}
	return name + ": " + detail
}
