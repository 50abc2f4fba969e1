package packet

// entry is an item with what became of it.
type entry struct {
	Item
	took  bool
	head  string // our line above it
	lines string // its text, quoted
}

// chosen is what a packet carries.
type chosen struct {
	standing string
	history  []entry
	begun    []entry
}

// An item's header costs room too, and so does the gap that it may leave in the
// list of what was left out.
const gap = 24

// smallest is what the least item takes: less room than this holds nothing.
const smallest = gap + len(Mark)

// choose fills the room, whole items only (F39): the standing instruction
// first, then what was said last on both sides and what was asked first, what
// the message's own runs did, and the rest, each from the newest back. A call
// without a result is carried in any case, since whoever goes on must know of it,
// and so is what was added to the task while it was worked on (P2).
func choose(a Ask, scope []Item) chosen {
	c := chosen{history: entries(scope), begun: entries(a.Begun)}
	room := a.Room
	take := func(e *entry, must bool) {
		if e.took || !must && (room < smallest || e.Size > room) {
			return
		}
		text := ""
		if e.Text != nil {
			text = e.Text()
		}
		if !must && len(text) > room {
			return
		}
		if a.Blank != nil {
			text = a.Blank(text)
		}
		head, lines := header(e.Item), quote(text)
		if cost := gap + len(head) + len(lines); must || cost <= room {
			e.head, e.lines, e.took = head, lines, true
			room -= cost
		}
	}
	if id := Standing(a.Items, a.Fork || a.Home); id != "" {
		if take(&c.history[0], false); c.history[0].took {
			c.standing = id
		}
	}
	unresolved := 0
	for i := range c.begun {
		switch e := &c.begun[i]; {
		case e.Says == Unresolved && unresolved < MaxUnresolved:
			unresolved++
			take(e, true)
		case e.Kind == User:
			take(e, true)
		}
	}
	for _, i := range []int{last(scope, User), last(scope, Reply), first(scope, User)} {
		if i >= 0 {
			take(&c.history[i], false)
		}
	}
	for _, part := range [][]entry{c.begun, c.history} {
		for i := len(part) - 1; i >= 0 && room >= smallest; i-- {
			take(&part[i], false)
		}
	}
	return c
}

func entries(items []Item) []entry {
	out := make([]entry, len(items))
	for i, it := range items {
		out[i].Item = it
	}
	return out
}

func first(items []Item, k Kind) int {
	for i, it := range items {
		if it.Kind == k {
			return i
		}
	}
	return -1
}

func last(items []Item, k Kind) int {
	for i := len(items) - 1; i >= 0; i-- {
		if items[i].Kind == k {
			return i
		}
	}
	return -1
}

// left lists what was left out, runs of neighbours as one: "2-19, m4". It is
// never longer than what was carried allows.
func left(parts ...[]entry) (out []string) {
	for _, part := range parts {
		for i := 0; i < len(part); i++ {
			if part[i].took {
				continue
			}
			from := i
			for i+1 < len(part) && !part[i+1].took {
				i++
			}
			if id := label(part[from].ID); i == from {
				out = append(out, id)
			} else {
				out = append(out, id+" to "+label(part[i].ID))
			}
		}
	}
	return out
}
