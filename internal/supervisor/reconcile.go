package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
)

// Silent is a call that began and never reported: whether it took effect is
// unknown.
type Silent struct {
	Item  int64  // its number in the thread
	About string // what was called, with its arguments
	n     int    // which call of the run it is
}

// Halt is what a thread waits for a person to settle (Z43).
type Halt struct {
	Run    run.State
	Silent []Silent // empty where all of it is settled already
}

// Halted looks for the work that a thread was halted in; ok is false where there
// is none.
func Halted(ctx context.Context, st *store.Store, th store.Thread) (h Halt, ok bool, err error) {
	o := &owner{Supervisor: &Supervisor{Options: Options{Store: st}}, thread: th}
	return o.halted(ctx)
}

func (o *owner) halted(ctx context.Context) (h Halt, ok bool, err error) {
	p, err := o.past(ctx)
	if err != nil || len(p.messages) == 0 || len(p.runs) == 0 {
		return h, false, err
	}
	r := p.runs[len(p.runs)-1]
	m := p.messages[slices.IndexFunc(p.messages, func(m store.Message) bool { return m.ID == r.Message })]
	if m.Status != run.NeedPerson || r.Phase != run.Failed || r.Claim.Phase != run.NoClaim {
		return h, false, nil
	}
	h = Halt{Run: r, Silent: p.silent(r.ID)}
	settled := false
	for _, it := range p.heads[r.ID] {
		settled = settled || it.Kind == "result" && decode(it.Body)["by"] != ""
	}
	return h, settled || len(h.Silent) > 0, p.err
}

// silent lists a run's calls that never reported, as far as is on record.
func (o *owner) silent(ctx context.Context, id paceline.RunID) ([]Silent, error) {
	p, err := o.past(ctx)
	if err != nil {
		return nil, err
	}
	return p.silent(id), p.err
}

func (h *past) silent(id paceline.RunID) (out []Silent) {
	reported, n := h.reported(id), 0
	for _, it := range h.heads[id] {
		if it.Kind != "tool" {
			continue
		}
		if n++; reported[n] == "" && !h.looks(it) {
			out = append(out, Silent{Item: it.Seq, About: h.text(it)(), n: n})
		}
	}
	return out
}

// looks reports whether a call can change nothing.
func (h *past) looks(head *store.Head) bool {
	it, err := h.o.Store.Item(h.ctx, h.o.thread.ID, head.Seq)
	h.err = errors.Join(h.err, err)
	return err == nil && fields(it)["looks"] != ""
}

func abouts(silent []Silent) (out []string) {
	for _, s := range silent {
		out = append(out, s.About)
	}
	return out
}

// Reconcile settles what a person has looked at: took says of each call, by its
// item, whether it took effect. Once all are settled the work goes on.
func (s *Supervisor) Reconcile(ctx context.Context, id paceline.ThreadID, took map[int64]bool) error {
	o, free, err := s.owner(ctx, id)
	if errors.Is(err, ErrBusy) {
		return &Refusal{Msg: fmt.Sprintf("%s is at work", id), Hint: "there is nothing to settle in it now", Code: 1}
	}
	if err != nil {
		return err
	}
	defer free()
	h, ok, err := o.halted(ctx)
	switch {
	case err != nil:
		return err
	case !ok:
		return &Refusal{Msg: fmt.Sprintf("nothing in %s is to be settled", id), Hint: "`paceline show " + string(id) + "` shows it", Code: 1}
	}
	var items []store.Item
	var left []string
	for _, c := range h.Silent {
		yes, said := took[c.Item]
		if !said {
			left = append(left, strconv.FormatInt(c.Item, 10))
			continue
		}
		items = append(items, item(h.Run, "result", map[string]string{"n": strconv.Itoa(c.n), "ok": strconv.FormatBool(yes), "by": "user"}))
	}
	if len(left) > 0 {
		return &Refusal{Msg: "not all of it is settled: " + strings.Join(left, ", "), Hint: "say of each whether it took effect: --took N, --not N", Code: 5}
	}
	ctx = context.WithoutCancel(ctx)
	if err := o.Store.InTx(ctx, func(tx *store.Tx) error { return tx.AddItems(ctx, items) }); err != nil {
		return err
	}
	seen, err := o.around(ctx)
	if err != nil {
		return err
	}
	after, effects, err := o.decide(ctx, h.Run.ID, run.Reconciled{}, seen)
	if err != nil {
		return err
	}
	if after.Claim.Phase == run.Pending {
		return nil
	}
	why := ""
	for _, e := range effects {
		if d, ok := e.(run.Decide); ok {
			why = d.Decision.Why
		}
	}
	return &Refusal{Msg: "it is settled, and nobody can carry the work on: " + why, Hint: "send the thread another message once that has changed", Code: 3}
}

// Changed lists the files of a tree that changed since then.
func Changed(tree string, since time.Time) []string {
	o := &owner{thread: store.Thread{Tree: tree}}
	return o.changes(since)
}
