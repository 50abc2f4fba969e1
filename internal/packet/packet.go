// Package packet chooses, orders, escapes and words what a successor is told.
//
// A packet is one text. Lines of ours begin with Mark and are the only ones
// with authority; everything that somebody else said or did is quoted, each
// line of it behind a bar, so that nothing inside of it can open a section,
// whatever it holds (F37). Items travel whole or not at all: what did not fit
// is named, with the way to read it (F39). All wording is in packet.tmpl, which
// a golden test holds (F68).
//
// There are two sorts. In a history the message below it is still to be
// answered, and stands there byte for byte. In a rollover the message was begun
// by somebody else: it is quoted as what was asked, among what was done and
// what nobody knows the end of, and never stands there as a prompt (P1).
package packet

import (
	"fmt"

	"github.com/paceline/paceline"
)

// Kind is what sort of item it is.
type Kind uint8

const (
	Note  Kind = iota // something that happened, in our words
	User              // a message to the thread
	Reply             // what an engine answered
	Call              // a tool that an engine called
	File              // a file that an engine changed
	Fresh             // from here on the conversation began anew
)

var kindNames = []string{"note", "message", "reply", "call", "file", "fresh start"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("%d?", k)
}

// Item is one thing that was said or done.
type Item struct {
	ID   string // as `show --item` takes it
	Kind Kind
	By   string // the engine, or the sender of a message
	// Says is what we know of it in words of ours: "not answered", "completed",
	// "UNRESOLVED", "PARTIAL". It holds nothing foreign.
	Says string
	// Message is the kind of a message.
	Message paceline.Kind
	// Size is what its text has at least, in bytes; a text that cannot fit is
	// then never loaded. 0 where it is not known.
	Size int
	// Text is loaded only when the item is considered: a thread may hold more
	// than memory should.
	Text func() string
}

// Ask is everything that a packet is made of.
type Ask struct {
	Thread paceline.ThreadID
	From   paceline.Engine // whose conversation held the thread
	Why    string          // what became of it: "hit its usage limit"; "" where nothing did
	// Items is what was said and done before the message, oldest first. What the
	// message's own runs did is not among them (F28).
	Items []Item
	// Text is the message, byte for byte.
	Text string
	// Begun is what the message's own runs did, oldest first; with Over it makes
	// the packet a rollover.
	Over  bool
	Begun []Item
	// Home says that the reader's own conversation goes on: Items is what was said
	// and done since, by others. What stands in it is in the conversation already.
	Home bool
	// Tree is what the working tree shows now, a line each.
	Tree []string
	// Fork says that the thread was forked off another: nothing in it is its own
	// standing instruction (F41).
	Fork   bool
	Room   int    // bytes for quoted items; see Budget
	Reader string // the command that prints an item, without its id
	// Blank takes secrets out of what crosses to another vendor; nil where
	// nothing does.
	Blank func(string) string
}

// Packet is what a successor is sent.
type Packet struct {
	Text     string
	Standing string   // the id of the standing instruction; "" where there is none (F40)
	Carried  []string // ids, oldest first
	Omitted  []string // ids, oldest first
}

// Make composes the packet. A message before which nothing was said, and which
// nobody began, is its own packet.
func Make(a Ask) (Packet, error) {
	scope := sinceFresh(a.Items)
	if len(scope) == 0 && !a.Over {
		return Packet{Text: a.Text}, nil
	}
	c := choose(a, scope)
	text, err := render(a, c)
	if err != nil {
		return Packet{}, err
	}
	p := Packet{Text: text, Standing: c.standing}
	for _, part := range [][]entry{c.history, c.begun} {
		for _, e := range part {
			if !e.took {
				p.Omitted = append(p.Omitted, e.ID)
			} else {
				p.Carried = append(p.Carried, e.ID)
			}
		}
	}
	return p, nil
}

// sinceFresh is what came after the latest fresh start: what was dropped there
// on purpose is not brought back (F41).
func sinceFresh(items []Item) []Item {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Kind == Fresh {
			return items[i+1:]
		}
	}
	return items
}

// Standing is the message that began this conversation, if its user or whoever
// launched the thread wrote it as a prompt. Nothing else stands: not a post, a
// wake, a delivery or a script, nor what an agent or another thread sent (F38).
func Standing(items []Item, fork bool) (id string) {
	items = sinceFresh(items)
	if fork || len(items) == 0 {
		return ""
	}
	if it := items[0]; it.Kind == User && it.Message == paceline.KindPrompt && (it.By == "user" || it.By == "launcher") {
		return it.ID
	}
	return ""
}
