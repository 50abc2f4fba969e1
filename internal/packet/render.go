package packet

import (
	_ "embed"
	"strings"
	"text/template"
)

// What our own words for an item can be where the packet itself looks at them.
const (
	Unresolved  = "UNRESOLVED"  // a call that began and never reported (Z81)
	Partial     = "PARTIAL"     // a reply that was cut
	Unconfirmed = "unconfirmed" // a file of a call that never reported
)

// MaxUnresolved bounds what is carried in any case.
const MaxUnresolved = 40

//go:embed packet.tmpl
var wording string

var words = template.Must(template.New("packet").Funcs(template.FuncMap{
	"mark": func() string { return Mark }, "label": label, "id": label, "unresolved": func() string { return Unresolved },
}).Parse(wording))

// view is what the wording looks at. Everything foreign in it is quoted or a
// label.
type view struct {
	From, Why, Standing, Reader string
	History, Added              []shown
	Done, Undone                []shown
	Left                        []string
	Text, Task, Tree            string
	Unresolved                  int
}

// shown is a carried item: our line above it, and its text, quoted.
type shown struct{ Head, Lines string }

func render(a Ask, c chosen) (string, error) {
	v := view{
		From: a.From.String(), Why: a.Why, Standing: c.standing, Reader: a.Reader, Text: a.Text,
		History: show(c.history, whatever), Added: show(c.begun, added), Done: show(c.begun, done), Undone: show(c.begun, undone), Left: left(c.history, c.begun),
	}
	name := "history"
	if a.Home {
		name = "home"
	}
	if a.Over {
		name = "rollover"
		blank := a.Blank
		if blank == nil {
			blank = func(s string) string { return s }
		}
		v.Text, v.Task = "", quote(blank(a.Text))
		if len(a.Tree) > 0 {
			v.Tree = quote(blank(strings.Join(a.Tree, "\n")))
		}
		for _, e := range c.begun {
			if e.Says == Unresolved {
				v.Unresolved++
			}
		}
	}
	var out strings.Builder
	err := words.ExecuteTemplate(&out, name, v)
	return out.String(), err
}

// undone reports whether an item was cut in the middle (Z81).
func undone(it Item) bool {
	return it.Says == Unresolved || it.Says == Partial || it.Says == Unconfirmed
}

func added(it Item) bool { return it.Kind == User }

func done(it Item) bool { return !undone(it) && !added(it) }

func whatever(Item) bool { return true }

func show(entries []entry, which func(Item) bool) (out []shown) {
	for _, e := range entries {
		if e.took && which(e.Item) {
			out = append(out, shown{e.head, e.lines})
		}
	}
	return out
}

// header is our line above an item.
func header(it Item) string {
	var out strings.Builder
	_ = words.ExecuteTemplate(&out, "head", it) // a strings.Builder takes everything
	return out.String()
}
