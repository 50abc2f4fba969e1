package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

// teamBed is a bed whose project has participants, by their names.
func teamBed(t *testing.T, agy fakeapi.AgyScript, script fakeapi.Script, folder string, files map[string]string) *bed {
	t.Helper()
	b := agyBed(t, agy, script)
	b.server = true
	b.env = append(b.env, "CLAUDE_CODE_MAX_RETRIES=0")
	t.Cleanup(func() {
		cmd := exec.Command(binary, "server", "stop")
		cmd.Env = b.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("server stop: %v: %s", err, out)
		}
	})
	if err := os.MkdirAll(b.path(folder), 0o700); err != nil {
		t.Fatal(err)
	}
	for id, text := range files {
		if err := os.WriteFile(filepath.Join(b.path(folder), id+".md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// log waits until a team's log holds a text.
func (b *bed) log(part string) {
	b.t.Helper()
	until(b.t, "the log says "+part, func() bool { return strings.Contains(b.paceline("team", "log").out, part) })
}

const ownFolder = ".paceline/participants"

// three are a participant of each program.
var three = map[string]string{
	"ann": "---\nprovider: claude\n---\nYou write the code.\n",
	"bob": "---\nprovider: codex\nmode: edit\n---\nYou review.\n",
	"cyd": "---\nprovider: antigravity\n---\nYou write the documents.\n",
}

func TestTeam(t *testing.T) {
	t.Run("A15 A18 A25 A27 A33 bug-37 three finish a task through an outage, a limit, a killed server and a gate", func(t *testing.T) {
		b := teamBed(t,
			fakeapi.AgyScript{Turns: []fakeapi.AgyTurn{{Write: "c.txt", Text: "Wrote c.txt."}, {Error: fakeapi.AgyQuota("2h")}}},
			fakeapi.Script{
				Anthropic: fakeapi.Steps(fakeapi.Shell("printf a > a.txt"), fakeapi.Text{Text: "Wrote a.txt.\nMOVE: ask @bob"}, fakeapi.Refuse{}),
				OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "a.txt looks right.\nMOVE: ask @cyd"}),
			}, ownFolder, three)
		b.vendors.Play(fakeapi.OpenAI,
			fakeapi.Step{Answer: fakeapi.UsageLimit{Reset: time.Now().Add(25 * time.Second)}},
			fakeapi.Step{Answer: fakeapi.Text{Text: "All is there.\nMOVE: gate push it"}}, fakeapi.Step{Answer: fakeapi.Text{Text: "Pushed.\nMOVE: done"}})

		r := b.want(5, "team", "start", "Write a.txt and c.txt.")
		has(t, r.err, "nobody agreed to that", "@ann: it runs on claude, which your chain does not name", "paceline team trust")
		b.want(5, "team", "trust")
		b.want(0, "team", "trust", "--yes")
		id := strings.TrimSpace(b.want(0, "team", "start", "--detach", "Write a.txt and c.txt.").out)

		b.log("every participant limited — waiting for codex, back first at ")
		if err := syscall.Kill(b.info().Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r = b.want(5, "attach", id)
		has(t, r.err, "@bob asks a person to approve: push it")
		has(t, b.want(0, "team", "show").out, "running", "team gate approve")
		b.want(2, "run", "-t", id, "Not like this.")
		b.want(0, "team", "gate", "approve", "but gently")
		r = b.want(0, "attach", id)
		has(t, r.err, "@bob says that it is done")

		log := b.want(0, "team", "log").out
		has(t, log,
			"@ann to @bob: Wrote a.txt.", "@bob to @cyd: a.txt looks right.", "@cyd: Wrote c.txt.",
			"claude could not be reached; trying it again at ", "bob is rate limited — @cyd takes the turn",
			"@bob (gate push it): All is there.", "@user to @bob: Approved: push it\n    but gently", "@bob (done): Pushed.")
		if b.file("a.txt") != "a" || b.file("c.txt") == "" {
			t.Error("the files are not there")
		}
		// Nobody was told the same twice, and everybody what the others said.
		for part, want := range map[string]int{"│ Wrote a.txt.": 1, "│ Wrote c.txt.": 1, "│ Approved: push it": 1} {
			n := 0
			for _, r := range b.vendors.Requests() {
				if r.Main && r.Opens && !r.Retry && r.Vendor == fakeapi.OpenAI && strings.Contains(r.Prompt, part) {
					n++
				}
			}
			if n < want || n > want+1 { // the round that the limit cut is told again
				t.Errorf("codex was told %q %d times", part, n)
			}
		}
		if n := b.agyAsked("You write the documents."); n != 2 {
			t.Errorf("agy had %d rounds", n)
		}
		has(t, b.want(0, "why", id).out, "is @ann's: it is the next in turn", "is @bob's: it was addressed", "its gate was approved")
	})
	t.Run("A8 A10 A12 A22 an .autodev file is read as it is, and its chain walked within the round", func(t *testing.T) {
		b := teamBed(t, fakeapi.AgyScript{}, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}),
			OpenAI:    fakeapi.Steps(fakeapi.Text{Text: "One."}, fakeapi.Text{Text: "Two.\nMOVE: done"}),
		}, ".autodev/participants", map[string]string{"lead": "---\nname: The Lead\nprovider: claude\nfailover: [codex, claude]\neffort: high\n---\nYou lead.\n"})
		b.env = append(b.env, "PACELINE_CHAIN__DEFAULT=claude,codex")
		from := []string{"--from", ".autodev/participants"}
		has(t, b.want(0, append([]string{"team", "list"}, from...)...).out, "@lead", "claude → codex", "not used here: name, effort")
		has(t, b.want(0, append([]string{"team", "edit", "lead"}, from...)...).out, filepath.Join(".autodev", "participants", "lead.md"))
		r := b.want(0, append([]string{"team", "start", "Do it."}, from...)...)
		has(t, r.err, "lead: claude limited → codex", "@lead, on codex:", "@lead says that it is done")
		has(t, r.out, "One.", "Two.")
		if n := strings.Count(b.want(0, "team", "log").out, "lead: claude limited → codex"); n != 1 {
			t.Errorf("it was said %d times", n)
		}
		b.once("You lead.", 1, 2)
	})
	t.Run("P1 two participants of one engine have a conversation each, and it goes on with their rounds", func(t *testing.T) {
		b := teamBed(t, fakeapi.AgyScript{}, fakeapi.Script{
			OpenAI: fakeapi.Steps(fakeapi.Text{Text: "One."}, fakeapi.Text{Text: "Two."}, fakeapi.Text{Text: "Three."}, fakeapi.Text{Text: "Four.\nMOVE: done"}),
		}, ownFolder, map[string]string{"ann": "---\nprovider: codex\n---\nYou write.\n", "bob": three["bob"]})
		b.env = append(b.env, "PACELINE_CHAIN__DEFAULT=codex")
		b.want(0, "team", "start", "Do it.")
		var rounds []fakeapi.Request
		for _, r := range b.vendors.Requests() {
			if r.Main && r.Opens && !r.Retry && r.Vendor == fakeapi.OpenAI {
				rounds = append(rounds, r)
			}
		}
		if len(rounds) != 4 {
			t.Fatalf("%d rounds", len(rounds))
		}
		for i, r := range rounds {
			own, other := []string{"You are @ann,", "You are @bob,"}[i%2], []string{"You are @bob,", "You are @ann,"}[i%2]
			if !r.Says(own) || r.Says(other) {
				t.Errorf("round %d is in a conversation that is not its participant's alone", i+1)
			}
		}
		if !rounds[2].Says("One.") || !rounds[3].Says("Two.") || strings.Contains(rounds[2].Prompt, "│ One.") {
			t.Error("a round does not go on with its participant's conversation")
		}
	})
	t.Run("A19 pause, resume, post and stop; --json tells the state", func(t *testing.T) {
		b := teamBed(t, fakeapi.AgyScript{}, fakeapi.Script{
			OpenAI: fakeapi.Steps(fakeapi.UsageLimit{Reset: time.Now().Add(time.Hour)}),
		}, ownFolder, map[string]string{"bob": three["bob"]})
		b.env = append(b.env, "PACELINE_CHAIN__DEFAULT=codex")
		b.want(1, "team", "show")
		id := strings.TrimSpace(b.want(0, "team", "start", "--detach", "Do it.").out)
		b.log("every participant limited — waiting for codex, back first at ")
		b.want(0, "team", "post", "--to", "@bob", "Are you there?")
		b.want(2, "team", "post", "--to", "@eve", "Are you there?")
		b.want(2, "team", "gate", "approve")
		state := func() (s struct{ Phase, Why string }) {
			if err := json.Unmarshal([]byte(b.want(0, "team", "show", "--json").out), &s); err != nil {
				t.Fatal(err)
			}
			return s
		}
		if s := state(); s.Phase != "running" {
			t.Errorf("%+v", s)
		}
		b.want(0, "team", "pause")
		b.want(130, "attach", id)
		b.want(0, "team", "resume")
		b.want(0, "team", "stop")
		if s := state(); s.Phase != "stopped" || s.Why != "stopped by its user" {
			t.Errorf("%+v", s)
		}
		until(t, "nothing is served", func() bool { return b.info().Serving == 0 })
		b.once("You review.", 0, 1)
		has(t, b.want(0, "team", "log").out, "@user to @bob: Are you there?")
	})
	t.Run("team init writes two participants, once", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{})
		b.env = append(b.env, "PACELINE_CHAIN__DEFAULT=claude,codex")
		has(t, b.want(0, "team", "init").out, "lead.md", "reviewer.md")
		b.want(1, "team", "init")
		has(t, b.want(0, "team", "list").out, "@lead", "claude → codex", "@reviewer", "codex → claude", "read")
		has(t, b.want(0, "team", "list", "--json").out, `"trusted":true`)
		has(t, b.want(0, "team", "trust").out, "nothing goes beyond")
	})
}
