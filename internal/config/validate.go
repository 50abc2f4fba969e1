package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/paceline/paceline"
)

// validate finds what is wrong between settings that are each right.
func (m merged) validate() Problems {
	var out Problems
	for _, name := range slices.Sorted(maps.Keys(m.names)) {
		out = append(out, m.account(name)...)
	}
	out = append(out, m.vendors()...)
	return append(out, m.chain()...)
}

// account judges what is declared of one account.
func (m merged) account(name string) Problems {
	path := spell([]string{"accounts", name})
	if !bare(name) {
		return Problems{m.names[name].problem(path, fault{
			path + " is not a name that a chain could hold", "use letters, digits, - and _",
		})}
	}
	var out Problems
	harness, ok := m.at(path + ".harness")
	switch {
	case !ok && !m.spoilt[path+".harness"]:
		out = append(out, m.names[name].problem(path, fault{
			path + " does not say which harness it is an account of", `add harness = "claude" or harness = "codex"`,
		}))
	case ok && slices.Contains(harnesses, name) && harness.value.text != name:
		out = append(out, harness.problem(fault{
			fmt.Sprintf("%s is always an account of %s", path, name), "give the account another name",
		}))
	}
	command, told := m.at(path + ".command")
	switch own := harness.value.text == "acp"; {
	case own && !told && !m.spoilt[path+".command"]:
		out = append(out, m.names[name].problem(path, fault{
			path + " does not say how its agent is started", `add command = "my-agent acp"`,
		}))
	case told && !own && ok:
		out = append(out, command.problem(fault{
			fmt.Sprintf("%s is for an agent of your own", command.spelt()), `say harness = "acp", or leave it out`,
		}))
	}
	return append(out, m.key(path)...)
}

// key judges how an account comes by its key: only one that is declared as
// metered has any, so that nobody's money is spent by a variable that happens
// to be set.
func (m merged) key(path string) Problems {
	var out Problems
	posture, _ := m.at(path + ".posture")
	var ways []setting
	for _, way := range []string{".key_env", ".key_command"} {
		s, ok := m.at(path + way)
		if !ok {
			continue
		}
		ways = append(ways, s)
		if posture.value.text != paceline.PostureMetered.String() && !m.spoilt[path+".posture"] {
			out = append(out, s.problem(fault{
				fmt.Sprintf("%s needs an account that is declared as metered", s.spelt()), `add posture = "metered"`,
			}))
		}
	}
	if len(ways) == 2 {
		out = append(out, ways[1].problem(fault{
			path + " has both key_env and key_command", "keep one of them",
		}))
	}
	return out
}

// vendors judges the names below [vendors].
func (m merged) vendors() Problems {
	known := slices.Compact(slices.Sorted(maps.Values(vendors)))
	var out Problems
	for _, s := range m.set {
		if s.path[0] != "vendors" || slices.Contains(known, s.name()) {
			continue
		}
		f := fault{what: "unknown vendor " + spell([]string{s.name()}), hint: "this build knows " + strings.Join(known, ", ")}
		if near := Nearest(s.name(), known); near != "" {
			f.hint = "did you mean " + near + "?"
		}
		out = append(out, s.problem(f))
	}
	return out
}

// chain judges each entry against the accounts and the entries before it.
func (m merged) chain() Problems {
	s := m.set["chain.default"]
	var out Problems
	blame := func(i item, what, hint string) {
		out = append(out, i.at.problem(s.spelt(), fault{what, hint}))
	}
	seen := map[paceline.Engine]bool{}
	holder := map[string]string{} // vendor to account
	for n, e := range engines(s.value.texts()) {
		i := s.value.list[n]
		if _, ok := m.names[e.Account]; !ok {
			blame(i, fmt.Sprintf("%s names %q, which is no account", s.spelt(), e.Account), m.instead(e.Account))
			continue
		}
		if seen[e] {
			blame(i, fmt.Sprintf("%s names %s twice", s.spelt(), e), "an engine serves a message once: leave the second out")
			continue
		}
		seen[e] = true
		harness, _ := m.at("accounts." + e.Account + ".harness")
		vendor := vendors[harness.value.text]
		other, taken := holder[vendor]
		switch {
		case vendor == "":
		case !taken:
			holder[vendor] = e.Account
		case other != e.Account && !m.permits(vendor):
			blame(i, fmt.Sprintf("%s names two accounts of %s: %s and %s", s.spelt(), vendor, other, e.Account),
				fmt.Sprintf("if both are yours and its terms allow it, say so: [vendors.%s] several_accounts = \"mine\"", vendor))
		}
	}
	return out
}

// instead says which account was meant, or how to declare one.
func (m merged) instead(name string) string {
	known := slices.Sorted(maps.Keys(m.names))
	if near := Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	if !bare(name) {
		return "there are " + strings.Join(known, ", ")
	}
	return fmt.Sprintf("declare it as [accounts.%s]; there are %s", name, strings.Join(known, ", "))
}

// permits reports whether the operator said that several accounts of a vendor
// are theirs.
func (m merged) permits(vendor string) bool {
	_, ok := m.at("vendors." + vendor + ".several_accounts")
	return ok
}

func (m merged) at(path string) (setting, bool) {
	s, ok := m.set[path]
	return s, ok
}
