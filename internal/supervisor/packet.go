package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/packet"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/secret"
	"github.com/paceline/paceline/internal/store"
)

// prompt is what the run's engine is sent: the message itself, or the packet
// that carries it. A packet is composed once and kept, so that a restart sends
// the same text, and a recovery looks for it (F40).
func (o *owner) prompt(ctx context.Context, r run.State, m paceline.Message) (paceline.Message, error) {
	if r.Carry == run.Bare {
		return m, nil
	}
	if r.Carry == run.Continue {
		// Under its own name: the program drops a second message of the same one.
		m.Text, m.UUID, m.Kind = packet.Continuation, harness.UUIDOf(string(r.ID)), paceline.KindContinuation
		return m, nil
	}
	it, err := o.Store.RunItem(ctx, o.thread.ID, r.ID, "packet")
	if err == nil {
		m.Text = fields(it)["text"]
		return m, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return m, err
	}
	p, err := o.compose(ctx, r, m)
	if err != nil {
		return m, fmt.Errorf("compose the packet of %s: %w", r.ID, err)
	}
	body := map[string]string{"text": p.Text, "standing": p.Standing, "omitted": strings.Join(p.Omitted, " ")}
	err = o.Store.InTx(context.WithoutCancel(ctx), func(tx *store.Tx) error { return tx.AddItem(ctx, item(r, "packet", body)) })
	m.Text = p.Text
	return m, err
}

// compose gathers what a packet is made of.
func (o *owner) compose(ctx context.Context, r run.State, m paceline.Message) (packet.Packet, error) {
	h, err := o.past(ctx)
	if err != nil {
		return packet.Packet{}, err
	}
	a := packet.Ask{
		Thread: o.thread.ID, Text: m.Text, Room: packet.Budget(0, 0, 0, len(m.Text)), Items: h.before(m.ID, ""),
		Reader: shell(o.Self) + " show " + string(o.thread.ID) + " --item",
	}
	a.From, a.Why = h.from(r)
	if r.Carry == run.Home {
		parked, err := o.parking(ctx, h.runs, r.Engine)
		if err != nil {
			return packet.Packet{}, err
		}
		a.Home, a.Items = true, h.before(m.ID, h.since(parked))
		if seat, ok := seated(h.runs); ok {
			a.From = seat.Engine
		}
		if parked.Failure != nil {
			a.Why = parked.Claim.Why
		}
	}
	if r.Carry == run.Progress {
		a.Over, a.Begun, a.Tree = true, h.begun(r), o.changes(h.began(r))
	}
	if h.crosses(o.vendor(r.Engine)) {
		find, err := secret.New()
		if err != nil {
			return packet.Packet{}, err
		}
		a.Blank = func(s string) string { s, _ = find.Blank(s); return s } // F48
	}
	p, err := packet.Make(a)
	return p, errors.Join(err, h.err)
}

// vendor is who reads what the engine is sent.
func (o *owner) vendor(e paceline.Engine) string {
	if h, ok := harness.Named(o.policy.Accounts[e.Account].Harness); ok {
		return h.Vendor()
	}
	return ""
}

// past is everything that a thread holds, without the bodies.
type past struct {
	ctx      context.Context
	o        *owner
	messages []store.Message
	runs     []run.State
	heads    map[paceline.RunID][]*store.Head
	err      error // the first item that could not be read
}

func (o *owner) past(ctx context.Context) (*past, error) {
	h := &past{ctx: ctx, o: o, heads: map[paceline.RunID][]*store.Head{}}
	var err error
	if h.messages, err = o.messages(ctx); err != nil {
		return nil, err
	}
	if h.runs, err = o.runs(ctx); err != nil {
		return nil, err
	}
	heads, err := o.Store.Heads(ctx, o.thread.ID)
	for i := range heads {
		h.heads[heads[i].Run] = append(h.heads[heads[i].Run], &heads[i])
	}
	return h, err
}

// before is what was said and done for earlier messages. What the runs of this
// one did is not among it, nor is what was only queued behind it (F28). Where
// from is named, it begins with that message.
func (h *past) before(id, from paceline.MessageID) (out []packet.Item) {
	for i, m := range h.messages {
		if m.ID == id {
			break
		}
		if m.ID == from {
			out = nil
		}
		if h.steered(m, id) {
			continue
		}
		it := packet.Item{
			ID: fmt.Sprintf("m%d", i+1), Kind: packet.User, By: m.Sender, Message: m.Kind, Size: len(m.Text),
			Text: func() string { return m.Text },
		}
		if begins(m.Message) {
			it.Kind = packet.Fresh
		}
		if m.Status != run.Answered {
			it.Says = "not answered (" + m.Status.String() + ")"
		}
		out = append(out, it)
		for _, r := range h.runs {
			if r.Message == m.ID {
				out = append(out, h.did(r, false)...)
			}
		}
	}
	return out
}

// steered reports whether a message was added to a run of this one.
func (h *past) steered(m store.Message, id paceline.MessageID) bool {
	for _, r := range h.runs {
		if r.ID == m.Steers {
			return r.Message == id
		}
	}
	return false
}

// since is the first message that an engine's conversation lacks which was set
// aside with that run: the one that it did not answer, or the next.
func (h *past) since(parked run.State) paceline.MessageID {
	for i, m := range h.messages {
		if m.ID == parked.Message && parked.Phase == run.Done && i+1 < len(h.messages) {
			return h.messages[i+1].ID
		}
	}
	return parked.Message
}

// begins reports whether a message makes the engine forget what went before
// (F41).
func begins(m paceline.Message) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(m.Text), " ")
	return m.Kind == paceline.KindSlash && (word == "/clear" || word == "/new" || word == "/reset")
}

// begun is what earlier runs of the same message did.
func (h *past) begun(r run.State) (out []packet.Item) {
	for _, b := range h.runs {
		if b.Message == r.Message && b.ID != r.ID {
			out = append(out, h.did(b, true)...)
			out = append(out, h.steers(b.ID)...)
		}
	}
	return out
}

// steers is what was added to a run while it ran: it was asked like the message
// itself, and goes along whole (P2).
func (h *past) steers(id paceline.RunID) (out []packet.Item) {
	for i, m := range h.messages {
		if m.Steers == id {
			out = append(out, packet.Item{
				ID: fmt.Sprintf("m%d", i+1), Kind: packet.User, By: m.Sender, Message: m.Kind, Size: len(m.Text),
				Says: "asked while it worked; it may have been taken in already", Text: func() string { return m.Text },
			})
		}
	}
	return out
}

// began is when the first run of the message did.
func (h *past) began(r run.State) time.Time {
	for _, b := range h.runs {
		if b.Message == r.Message && !b.Began.IsZero() {
			return b.Began
		}
	}
	return r.Created
}

// did is what one run said and did. Of the message's own runs more is told:
// which calls never reported, what was cut, what the disk shows of the files.
func (h *past) did(r run.State, own bool) (out []packet.Item) {
	ended := h.reported(r.ID)
	calls := 0
	for _, it := range h.heads[r.ID] {
		p := packet.Item{ID: strconv.FormatInt(it.Seq, 10), By: r.Engine.String(), Size: it.Size / longest, Text: h.text(it)}
		switch it.Kind {
		case "text":
			p.Kind = packet.Reply
		case "tool":
			calls++
			p.Kind, p.Says = packet.Call, ended[calls]
			switch {
			case !own || p.Says != "":
			case h.looks(it):
				p.Says = "cut; it only looked"
			default:
				p.Says = packet.Unresolved
			}
		case "file":
			p.Kind = packet.File
			if own {
				p.Says = h.o.onDisk(p.Text(), r.Began)
			}
		case "stopped":
			p.Says = "left running in the background, and stopped by us"
		default:
			continue
		}
		out = append(out, p)
	}
	for i := len(out) - 1; i >= 0 && own && r.Phase != run.Done; i-- {
		if out[i].Kind == packet.Reply {
			out[i].Says = packet.Partial
		}
		if out[i].Kind != packet.Note {
			break
		}
	}
	return out
}

// reported says of each call of a run that has reported how it ended, by its
// place among the calls.
func (h *past) reported(id paceline.RunID) map[int]string {
	out := map[int]string{}
	for _, it := range h.heads[id] {
		if it.Kind != "result" {
			continue
		}
		f := decode(it.Body)
		n, _ := strconv.Atoi(f["n"])
		switch {
		case f["by"] != "" && f["ok"] == "true":
			out[n] = "never reported; its user found that it took effect"
		case f["by"] != "":
			out[n] = "never reported; its user found that it did not take effect"
		case f["left"] != "":
			out[n] = "went on in the background, and was ended with its engine" // nothing of a run outlives it
		case f["ok"] == "true":
			out[n] = "completed"
		default:
			out[n] = "failed"
		}
	}
	return out
}

// longest is how many bytes of JSON one byte of text takes at most: a body of
// 600 bytes holds a text of 100 or more.
const longest = 6

// text reads an item when it is first looked at.
func (h *past) text(head *store.Head) func() string {
	return func() string {
		it, err := h.o.Store.Item(h.ctx, h.o.thread.ID, head.Seq)
		if err != nil {
			h.err = errors.Join(h.err, err)
			return ""
		}
		f := fields(it)
		switch it.Kind {
		case "tool":
			return about(f["name"], f["about"])
		case "file":
			return f["path"]
		}
		return f["text"]
	}
}

// from is the engine that the run takes over from, and what became of it.
func (h *past) from(r run.State) (e paceline.Engine, why string) {
	at := map[paceline.RunID]run.State{}
	for _, b := range h.runs {
		at[b.ID] = b
	}
	for b, ok := at[r.After]; ok; b, ok = at[b.After] {
		if b.Engine != r.Engine {
			return b.Engine, b.Claim.Why
		}
	}
	b, _ := seated(h.runs)
	return b.Engine, ""
}

// crosses reports whether anything in the thread comes from another vendor.
func (h *past) crosses(vendor string) bool {
	for _, r := range h.runs {
		if h.o.vendor(r.Engine) != vendor {
			return true
		}
	}
	return false
}

// onDisk is what the disk shows of a file that a run reported (Z95).
func (o *owner) onDisk(path string, began time.Time) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(o.thread.Dir, path)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "not there now"
	case err != nil:
		return "it cannot be looked at"
	case info.IsDir():
		return "a folder"
	case info.ModTime().Before(began.Truncate(time.Second)):
		return fmt.Sprintf("there, %d bytes, unchanged since before", info.Size())
	}
	return fmt.Sprintf("there, %d bytes, changed since the run began", info.Size())
}

// Of the tree so many lines are shown, each so long (Z94); and for so long is it
// looked at, that a large one does not hold the successor up.
const (
	treeLines = 40
	treeLine  = 120
	looking   = 2 * time.Second
)

// changes lists the files of the tree that changed since then. Git is not asked:
// its configuration is in the tree, and what a caged run wrote there would be
// executed by us, outside of the cage.
func (o *owner) changes(since time.Time) (out []string) {
	since = since.Truncate(time.Second) // some file systems keep no more
	until := time.Now().Add(looking)
	err := filepath.WalkDir(o.thread.Tree, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be looked at is not told of
		case e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules"):
			return fs.SkipDir
		case len(out) == treeLines, time.Now().After(until):
			out = append(out, "(and perhaps more)")
			return fs.SkipAll
		case e.IsDir():
			return nil
		}
		info, err := e.Info()
		if err != nil || info.ModTime().Before(since) {
			return nil
		}
		rel, err := filepath.Rel(o.thread.Tree, path)
		if err != nil {
			return nil
		}
		if len(rel) > treeLine {
			rel = rel[:treeLine] + "…"
		}
		out = append(out, fmt.Sprintf("%s (%d bytes)", strings.ToValidUTF8(rel, "\uFFFD"), info.Size()))
		return nil
	})
	if err != nil {
		return nil
	}
	return out
}

// fields are an item's.
func fields(it store.Item) map[string]string { return decode(it.Body) }

func decode(body json.RawMessage) map[string]string {
	var f map[string]string
	_ = json.Unmarshal(body, &f) // every body was written by item
	return f
}

// shell quotes a path as a shell takes it.
func shell(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
