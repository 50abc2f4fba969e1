package e2e

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
	"github.com/paceline/paceline/internal/store/pgtest"
)

// database is the PostgreSQL of these tests. It is killed, so it flushes.
var database = pgtest.Server{Durable: true}

const password = "hunter2-of-the-database"

// onPostgres is a bed whose state is in a database of its own, which asks for a
// password.
func onPostgres(t *testing.T, script fakeapi.Script) *bed {
	t.Helper()
	b := newBed(t, script)
	url := database.Database(t)
	database.Exec(t, "ALTER ROLE "+pgtest.User+" PASSWORD '"+password+"'")
	t.Cleanup(b.discreet)
	b.env = append(b.env, "PACELINE_STORE__URL="+database.TCP(url, pgtest.User, password))
	return b
}

// discreet checks that the state folder, with its log and whatever else came to
// lie there, holds neither the password nor a file of state.
func (b *bed) discreet() {
	err := filepath.WalkDir(filepath.Join(b.dir, "state"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if strings.HasPrefix(d.Name(), "paceline.db") {
			b.t.Errorf("%s was made", path)
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(password)) {
			b.t.Errorf("%s holds the password", path)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.t.Error(err)
	}
}

func TestPostgres(t *testing.T) {
	t.Run("The main job on PostgreSQL; its URL's password is nowhere, and no file is made for the state", func(t *testing.T) {
		b := onPostgres(t, limited())
		r := b.want(0, "run", "--chain", "claude,codex", prompt)
		has(t, r.out, "I wrote it.")
		b.once(prompt, 1, 1)
		has(t, b.want(0, "why", "-c").out, "hit its usage limit")
		has(t, b.want(0, "config", "show").out, "postgres://"+pgtest.User+"@127.0.0.1:")
		lacks(t, b.want(0, "config", "show", "--json").out+b.want(0, "status", "--json").out, password)
		for _, v := range b.vendors.Requests() {
			lacks(t, v.Prompt, password)
		}
	})
	t.Run("Two hosts share a database, and each keeps to its own threads", func(t *testing.T) {
		b := onPostgres(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Yes."})})
		b.want(0, "run", "-e", "claude", prompt)
		id := b.threads()[0]
		other := []string{"PACELINE_STATE=" + filepath.Join(b.dir, "other")}
		r := b.with(other, nil, "threads")
		if r.code != 0 || !strings.Contains(r.out, id) || !strings.Contains(r.out, ":"+b.project) {
			t.Errorf("the other host does not list it as ours: %s", r)
		}
		if r := b.with(other, nil, "run", "-t", id, "go on"); r.code != 2 || !strings.Contains(r.err, "another host") {
			t.Errorf("the other host works on our thread: %s", r)
		}
		if r := b.with(other, nil, "run", "-c", "go on"); r.code != 2 {
			t.Errorf("the other host goes on with it: %s", r)
		}
		b.want(0, "run", "-c", "And again.")
	})
	t.Run("A database that cannot be reached, and a server on another one, are named and not gone around", func(t *testing.T) {
		b := onPostgres(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Yes."})})
		nowhere := []string{"PACELINE_STORE__URL=postgres://me:" + password + "@127.0.0.1:1/x"}
		for _, args := range [][]string{{"run", "-e", "claude", prompt}, {"threads"}, {"status"}} {
			r := b.with(nowhere, nil, args...)
			if r.code != 1 || !strings.Contains(r.err, "does not answer") || strings.Contains(r.err, password) {
				t.Errorf("%v: %s", args, r)
			}
		}
		b.server = true
		b.want(0, "run", "-e", "claude", "asked of the one that serves")
		file := []string{"PACELINE_STORE__URL="}
		r := b.with(file, nil, "run", "-e", "claude", prompt)
		b.want(0, "server", "stop")
		if r.code != 1 || !strings.Contains(r.err, "keeps its state in postgres://"+pgtest.User+"@127.0.0.1") || strings.Contains(r.err, password) {
			t.Errorf("it went to a server with another store: %s", r)
		}
		b.once(prompt, 0, 0)
		if len(b.marked()) > 0 {
			t.Error("a child was started")
		}
	})
}

func TestKilledOnPostgres(t *testing.T) {
	for _, point := range []string{"sending-committed", "prompt-written", "before-running", "during-dispatch"} {
		t.Run("P1 P3 F31 killed at "+point+": never twice, and once in the end", func(t *testing.T) {
			carried(onPostgres(t, limited()), point)
		})
	}
	for _, point := range []string{"starting", "failure-frame", "after-tx1", "after-tx2"} {
		t.Run("P1 P3 F31 killed at "+point+", and its database with it", func(t *testing.T) {
			b := onPostgres(t, limited())
			b.between = func() {
				database.Kill()
				database.Start(t)
			}
			carried(b, point)
		})
	}
	t.Run("P1 its database is killed while the vendor is asked: the run waits for it, and goes on once", func(t *testing.T) {
		b := onPostgres(t, limited())
		_, _, _, wait := b.started("run", "--chain", "claude,codex", prompt)
		until(t, "claude is asked", func() bool { return b.sent(fakeapi.Anthropic, prompt) == 1 })
		database.Kill()
		<-time.After(time.Second)
		database.Start(t)
		r := wait()
		if r.code != 0 {
			t.Error(r)
		}
		has(t, r.out, "I wrote it.")
		has(t, r.err, "Switched to codex after claude hit its usage limit.")
		b.once(prompt, 1, 1)
		if s := b.show(); len(s.Runs) != 2 || s.Runs[0].Claim.Phase != "dispatched" || s.Runs[1].Phase != "done" {
			t.Errorf("%+v", s)
		}
	})
	t.Run("P1 its server leaves while its database is away: that is said, and the next one carries on", func(t *testing.T) {
		b := onPostgres(t, limited())
		b.server = true
		_, _, _, wait := b.started("run", "--chain", "claude,codex", prompt)
		until(t, "claude is asked", func() bool { return b.sent(fakeapi.Anthropic, prompt) == 1 })
		database.Kill()
		until(t, "it is said", func() bool { return strings.Contains(b.want(0, "server", "status").out, "has not answered since") })
		b.want(0, "server", "stop")
		if r := wait(); r.code != 1 || !strings.Contains(r.err, "does not answer") || strings.Contains(r.err, password) {
			t.Errorf("no clear error: %s", r)
		}
		database.Start(t)
		b.server = false
		r := b.with(nil, strings.NewReader(""), "run", "-c")
		s := b.show()
		last := s.Messages[len(s.Messages)-1].Status
		// Claude may have been ended before its transcript could prove anything.
		if codex := b.sent(fakeapi.OpenAI, prompt); (codex != 1 || last != "answered" || r.code != 0) && (codex != 0 || last != "failed" || r.code != 1) {
			t.Errorf("codex was asked %d times, the message is %s: %s", codex, last, r)
		}
		if n := b.sent(fakeapi.Anthropic, prompt); n != 1 {
			t.Errorf("claude was asked %d times", n)
		}
	})
	t.Run("Its database is killed while an answer comes in: it is heard meanwhile, and on record whole", func(t *testing.T) {
		b := onPostgres(t, fakeapi.Script{Anthropic: fakeapi.Steps(slowly(40))})
		_, out, _, wait := b.started("run", "-e", "claude", "--json", prompt)
		heard := func(word string) func() bool {
			return func() bool {
				said := ""
				for _, e := range events(t, out.String()) {
					said += e.Text
				}
				return strings.Contains(said, word)
			}
		}
		until(t, "it answers", heard("word5."))
		database.Kill()
		until(t, "it is heard while its database is away", heard("word25."))
		database.Start(t)
		r := wait()
		if r.code != 0 {
			t.Fatal(r)
		}
		id := b.threads()[0]
		live, again := events(t, r.out), events(t, b.want(0, "attach", id, "--json").out)
		if !slices.Equal(live, again) {
			t.Errorf("it told\n%v\nand has on record\n%v", live, again)
		}
		b.once(prompt, 1, 0)
	})
}
