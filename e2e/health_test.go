package e2e

import (
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paceline/paceline/internal/fakeapi"
)

// gate is an address on which nobody listens until it is opened; then it leads to
// the scripted vendors.
type gate struct {
	t    *testing.T
	addr string
	came atomic.Int64 // connections since it was opened
}

func newGate(t *testing.T) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return &gate{t: t, addr: l.Addr().String()}
}

func (g *gate) open(to string) {
	g.t.Helper()
	l, err := net.Listen("tcp", g.addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			g.came.Add(1)
			out, err := net.Dial("tcp", strings.TrimPrefix(to, "http://"))
			if err != nil {
				_ = in.Close()
				continue
			}
			var both sync.WaitGroup
			both.Go(func() { _, _ = io.Copy(out, in); _ = out.(*net.TCPConn).CloseWrite() })
			both.Go(func() { _, _ = io.Copy(in, out); _ = in.(*net.TCPConn).CloseWrite() })
			go func() { both.Wait(); _ = in.Close(); _ = out.Close() }()
		}
	}()
}

// routes is the part of `status --json` that tells of health.
func (b *bed) routes() (out struct {
	Health []struct {
		Route, Endpoint, Phase string
		Errors                 int
		Trial                  *struct{ Run string }
	}
	Excluded []struct{ Account, Why string }
},
) {
	b.t.Helper()
	r := b.want(0, "status", "--json")
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		b.t.Fatalf("%v in %s", err, r.out)
	}
	return out
}

// gated leads claude to a gate that nobody opened, and gives up at once.
func (b *bed) gated(cooldown string) *gate {
	g := newGate(b.t)
	b.env = append(b.env, "ANTHROPIC_BASE_URL=http://ada:secret@"+g.addr, "CLAUDE_CODE_MAX_RETRIES=0",
		"PACELINE_FALLBACK__HEALTH__COOLDOWN_SECS="+cooldown)
	return g
}

// opens has three runs fail on claude's route.
func (b *bed) opens() {
	b.t.Helper()
	for _, n := range []string{"one", "two", "three"} {
		r := b.want(0, "run", "--chain", "claude,codex", "Prompt "+n+".")
		has(b.t, r.err, "Switched to codex after claude could not be reached.")
	}
}

func TestHealth(t *testing.T) {
	codex := fakeapi.Steps(fakeapi.Text{Text: "Done by codex."})
	t.Run("Z66 Z77 Z79 Z84 Z101 a vendor that refuses connections: the third failure opens the route, new work goes elsewhere and says why, and one trial closes it", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Done by claude."}), OpenAI: codex})
		g := b.gated("20")
		lacks(t, b.want(0, "status").out, "health:")
		b.opens()
		opened := time.Now()
		has(t, b.want(0, "why", "-c").out, "claude route health open: 3 transport error(s) in 10m")
		status := b.want(0, "status")
		has(t, status.out, "health: claude open (3 transport/server error(s)", "; next health check ~unix ", "(estimate))",
			"excluded claude: claude: route health open: 3 transport error(s) in 10m; next health check in ~")
		lacks(t, status.out, "secret", "ada")
		if s := b.routes(); len(s.Health) != 1 || s.Health[0].Phase != "open" || s.Health[0].Endpoint != g.addr || s.Health[0].Errors != 3 {
			t.Errorf("%+v", s)
		}
		has(t, b.want(0, "doctor").out, "health: claude open (3 transport/server error(s)")
		has(t, b.want(0, "health").out, "health: claude open", "`paceline health reset claude` forgets it")

		// The vendor is back; nobody knows yet.
		g.open(b.vendors.URL())
		r := b.want(0, "run", "--chain", "claude,codex", "Prompt four.")
		has(t, r.err, "Starting on codex: claude cannot serve, route health open: 3 transport error(s) in 10m; next health check in ~")
		has(t, r.out, "Done by codex.")
		if n := g.came.Load(); n != 0 {
			t.Errorf("claude's vendor was asked %d times while its route was open", n)
		}
		has(t, b.want(0, "why", "-c").out, "run on codex: it is the first in the chain that can serve", "not claude: route health open: 3 transport error(s) in 10m")

		time.Sleep(time.Until(opened.Add(21 * time.Second)))
		has(t, b.want(0, "status").out, "health: claude half-open (")
		r = b.want(0, "run", "--chain", "claude,codex", "Prompt five.")
		has(t, r.out, "Done by claude.")
		lacks(t, r.err, "Starting on codex")
		has(t, b.want(0, "why", "-c").out, "claude may be tried again, by one run: its cooldown is over", " tries claude: one run at a time", "claude is healthy again: it answered, having been half-open")
		lacks(t, b.want(0, "status").out, "health:", "excluded")
		has(t, b.want(0, "health").err, "every route is healthy")
	})
	t.Run("Z77 of several runs that begin when the cooldown is over one tries the route, and the others are told who", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Done by claude.", Delay: 4 * time.Second}), OpenAI: codex})
		b.waits = true
		g := b.gated("3")
		b.opens()
		g.open(b.vendors.URL())
		time.Sleep(3500 * time.Millisecond)
		var ids []string
		for range 4 {
			ids = append(ids, strings.TrimSpace(b.want(0, "run", "--detach", "--mode", "read", "--chain", "claude,codex", "Prompt again.").out))
		}
		by := map[string]int{}
		told := ""
		for _, id := range ids {
			r := b.want(0, "attach", id)
			for _, who := range []string{"claude", "codex"} {
				if strings.Contains(r.out, "Done by "+who+".") {
					by[who]++
				}
			}
			told += r.err
		}
		if by["claude"] != 1 || by["codex"] != 3 {
			t.Errorf("%v", by)
		}
		has(t, told, "claude cannot serve, route health half-open: trial in flight: r-")
	})
	t.Run("Z90 a pin goes to a route that is open, and what it finds closes it", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Done by claude."}), OpenAI: codex})
		g := b.gated("600")
		b.opens()
		g.open(b.vendors.URL())
		has(t, b.want(0, "run", "-e", "claude", "A pin.").out, "Done by claude.")
		lacks(t, b.want(0, "status").out, "health:")
	})
	t.Run("Z75 Z76 Z77 both engines behind one gateway: nobody is healthy, and a run that may not wait is refused with the reason", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{OpenAI: codex})
		g := b.gated("600")
		b.opens()
		b.env = append(b.env, "PACELINE_ACCOUNTS__CODEX__BASE_URL=http://"+g.addr+"/v1")
		r := b.want(3, "run", "--chain", "claude,codex", "Prompt four.")
		has(t, r.err, "claude: route health open: 3 transport error(s)", "codex: claude: route health open: 3 transport error(s)", "both go to "+g.addr)
		lacks(t, r.err, "secret", "/v1")
		has(t, b.want(0, "status").out, "excluded claude: claude: route health open", "excluded codex: claude: route health open")
		if s := b.routes(); len(s.Excluded) != 2 || len(s.Health) != 1 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("A25 A26 Z77 Z99 nowhere healthy: the message waits until a route is tried again, says so once, and goes on", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Text{Text: "Done by claude."}), OpenAI: codex})
		g := b.gated("20")
		b.opens()
		b.env = append(b.env, "PACELINE_ACCOUNTS__CODEX__BASE_URL=http://"+g.addr+"/v1")
		g.open(b.vendors.URL())
		b.waits = true
		r := b.want(0, "run", "--chain", "claude,codex", "Prompt four.")
		has(t, r.out, "Done by ")
		if n := strings.Count(r.err, "No engine can be reached; trying again at "); n != 1 {
			t.Errorf("said %d times: %s", n, r.err)
		}
		b.once("Prompt four.", 1, 0)
	})
	t.Run("Z68 Z69 Z83 a refused account is passed over at once, until its cooldown is over or somebody resets it", func(t *testing.T) {
		b := serverBed(t, fakeapi.Script{
			Anthropic: fakeapi.Steps(fakeapi.SignedOut{}, fakeapi.Text{Text: "Done by claude."}), OpenAI: codex,
		})
		has(t, b.want(0, "run", "--chain", "claude,codex", "Prompt one.").err, "Switched to codex after claude was signed out.")
		has(t, b.want(0, "status").out, "health: claude unavailable (0 transport/server error(s), last model claude-",
			"; its vendor refused the account (authentication_failed); next health check ~unix ")
		has(t, b.want(0, "run", "--chain", "claude,codex", "Prompt two.").err, "Starting on codex: claude cannot serve, route health unavailable: its vendor refused the account")
		b.want(2, "health", "reset", "nobody")
		has(t, b.want(0, "health", "reset", "claude", "--json").out, `{"reset":"claude"}`)
		has(t, b.want(0, "run", "--chain", "claude,codex", "Prompt three.").out, "Done by claude.")
		has(t, b.want(0, "health").err, "every route is healthy")
	})
	t.Run("bug-46 an overloaded vendor is told as that, and nothing is held against the account's allowance", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Overloaded{}), OpenAI: codex})
		b.env = append(b.env, "CLAUDE_CODE_MAX_RETRIES=0")
		b.opens()
		status := b.want(0, "status").out
		has(t, status, "health: claude open (3 transport/server error(s)", "server overloaded")
		lacks(t, status, "is limited")
		if out := b.want(0, "limits").out; out != "" {
			t.Errorf("held: %s", out)
		}
	})
	t.Run("bug-47 a bare 429 is the request's affair: its route stays well", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.Throttle{}), OpenAI: codex})
		b.env = append(b.env, "CLAUDE_CODE_MAX_RETRIES=0")
		b.want(0, "run", "--chain", "claude,codex", "Prompt one.")
		lacks(t, b.want(0, "status").out, "health:")
	})
	t.Run("bug-49 a gateway that answers 503 for every model is suspected by name, no model is", func(t *testing.T) {
		b := newBed(t, fakeapi.Script{Anthropic: fakeapi.Steps(fakeapi.ServerError{Status: 503}), OpenAI: codex})
		b.env = append(b.env, "CLAUDE_CODE_MAX_RETRIES=0")
		b.want(0, "run", "--chain", "claude:opus,codex", "Prompt one.")
		b.want(0, "run", "--chain", "claude:sonnet,codex", "Prompt two.")
		has(t, b.want(0, "status").out, "health: claude suspect (2 transport/server error(s), last model sonnet): opus and sonnet fail alike through 127.0.0.1:", ", so the endpoint is suspected")
	})
}
