package fakeapi

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"
)

func TestCloseEndsWhatHangs(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, a := range []Answer{Hang{}, Hang{After: "I will"}, Text{Text: "slow", Delay: time.Hour}} {
		s, err := Start(t.Context(), Script{Anthropic: Steps(a), OpenAI: Steps(a)})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan bool, 2)
		go func() { r, err := askClaude(t, s, "", said("user", "go")); ended <- err != nil || r.broken }()
		go func() { r, err := askCodex(t, s, "", typed("go")); ended <- err != nil || r.broken }()
		for _, v := range []Vendor{Anthropic, OpenAI} {
			if _, err := s.Wait(t.Context(), func(r Request) bool { return r.Vendor == v }); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for range 2 {
			if !<-ended {
				t.Errorf("%T was answered in full", a)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("closed twice: %v", err)
		}
	}
}

func TestTheContextEndsTheServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, Script{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := s.Wait(t.Context(), func(Request) bool { return false }); err == nil {
		t.Error("the server goes on")
	}
	_ = s.Close()
}

func TestBrokenAnswers(t *testing.T) {
	for name, answer := range map[string]Answer{"a cut": CutMidStream{After: "I will"}, "a refusal": Refuse{}} {
		s := start(t, Script{Anthropic: Steps(answer), OpenAI: Steps(answer)})
		for vendor, ask := range map[Vendor]func() (reply, error){
			Anthropic: func() (reply, error) { return askClaude(t, s, "", said("user", "go")) },
			OpenAI:    func() (reply, error) { return askCodex(t, s, "", typed("go")) },
		} {
			r, err := ask()
			if _, cut := answer.(CutMidStream); cut && (err != nil || !r.broken || len(r.events) < 3) {
				t.Errorf("%s by %s: %v, whole: %v, events %q", name, vendor, err, !r.broken, r.kinds)
			} else if !cut && err == nil {
				t.Errorf("%s by %s was answered %d", name, vendor, r.status)
			}
		}
	}
	s := start(t, Script{Anthropic: Steps(Malformed{})})
	if r := must(t)(askClaude(t, s, "", said("user", "go"))); len(r.events) != 1 || gjson.Valid(r.events[0].Raw) {
		t.Errorf("malformed is %v", r.events)
	}
}

func TestPlayAddsAnswers(t *testing.T) {
	s := start(t, Script{Anthropic: Steps(Text{Text: "one"})})
	must(t)(askClaude(t, s, "", said("user", "go")))
	s.Play(Anthropic, Step{Answer: Refuse{}})
	if _, err := askClaude(t, s, "", said("user", "go")); err == nil {
		t.Error("the added answer was not played")
	}
}

// Whoever takes the server for a proxy gets no further.
func TestNoWayOut(t *testing.T) {
	s := start(t, Script{})
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: api.anthropic.com:443\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 12)
	if _, err := c.Read(b); err != nil || string(b) != "HTTP/1.1 403" {
		t.Errorf("answered %q, %v", b, err)
	}
	if r := s.Requests()[0]; r.Method != http.MethodConnect || r.Path != "api.anthropic.com:443" {
		t.Errorf("recorded as %+v", r)
	}
}

func TestEnvironmentsStayInTheirHome(t *testing.T) {
	s := start(t, Script{})
	home := t.TempDir()
	claude, err := s.ClaudeEnv(home)
	if err != nil {
		t.Fatal(err)
	}
	codex, err := s.CodexEnv(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range append(claude, codex...) {
		if _, v, _ := strings.Cut(kv, "="); strings.HasPrefix(v, "/") && !strings.HasPrefix(v, home) || strings.Contains(v, "https://") {
			t.Errorf("%s leads out", kv)
		}
	}
	for _, name := range []string{".claude/.credentials.json", ".codex/auth.json"} {
		info, err := os.Stat(filepath.Join(home, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
