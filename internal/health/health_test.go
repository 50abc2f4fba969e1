package health

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline"
)

var (
	now = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	// usual is row Z85.
	usual = Policy{Enabled: true, OpenAfter: 3, Window: 10 * time.Minute, Cooldown: 5 * time.Minute, ErrorPct: 25, MinSamples: 8}
	route = Route{Account: "claude", Endpoint: "api.anthropic.com:443"}
)

// bench folds outcomes into one record, a second apart, and keeps what is told.
type bench struct {
	Record
	p     Policy
	now   time.Time
	n     int
	lines []string
}

func fresh(p Policy) *bench { return &bench{Record: Record{Route: route}, p: p, now: now} }

func (b *bench) saw(kinds ...Kind) *bench {
	for _, k := range kinds {
		b.now = b.now.Add(time.Second)
		b.n++
		b.fold(Outcome{Kind: k, ID: fmt.Sprintf("r-%d", b.n), At: b.now})
	}
	return b
}

func (b *bench) fold(o Outcome) *bench {
	r, lines := Observe(b.Record, o, b.now, b.p)
	return b.keep(r, lines)
}

func (b *bench) keep(r Record, lines []Line) *bench {
	b.Record = r
	for _, l := range lines {
		b.lines = append(b.lines, l.Event)
	}
	return b
}

// after lets time pass.
func (b *bench) after(d time.Duration) *bench {
	b.now = b.now.Add(d)
	r, lines := Age(b.Record, b.now, b.p)
	return b.keep(r, lines)
}

func (b *bench) admit(who string) Verdict {
	v := Admit(b.Record, who, b.now, b.p)
	b.keep(v.Record, v.Lines)
	return v
}

// in brings a route into a phase.
func in(p Phase) *bench {
	b := fresh(usual)
	switch p {
	case Healthy:
		b.saw(Success)
	case Suspect:
		b.saw(Transport, Transport)
	case Degraded:
		b.saw(Transport, Server, Success, Success, Success, Success, Success, Success)
	case Open:
		b.saw(Transport, Transport, Server)
	case HalfOpen:
		b.saw(Transport, Transport, Server).after(usual.Cooldown)
	case Unavailable:
		b.saw(Denied)
	}
	b.lines = nil
	return b
}

var phases = []Phase{Healthy, Suspect, Degraded, HalfOpen, Open, Unavailable}

func TestPhases(t *testing.T) {
	// What one more outcome of each kind makes of each phase.
	became := map[Phase]map[Kind]Phase{
		Healthy:     {Transport: Suspect, Server: Suspect, Denied: Unavailable},
		Suspect:     {Success: Healthy, Transport: Open, Server: Open, Denied: Unavailable},
		Degraded:    {Denied: Unavailable},
		HalfOpen:    {Success: Healthy, Reached: Suspect, Transport: Open, Server: Open, Denied: Unavailable},
		Open:        {Success: Healthy, Reached: Suspect, Denied: Unavailable},
		Unavailable: {Success: Healthy, Reached: Healthy},
	}
	lines := map[Phase]string{Suspect: "", Open: "health-open", Unavailable: "health-unavailable"}
	for _, p := range phases {
		for k := Nothing; k <= ModelRefused; k++ {
			want, ok := became[p][k]
			if !ok {
				want = p
			}
			t.Run(fmt.Sprintf("Z66 Z67 Z68 Z70 Z84 %s and %s: %s", p, k, want), func(t *testing.T) {
				b := in(p)
				if b.Phase != p {
					t.Fatalf("it begins %s", b.Phase)
				}
				b.saw(k)
				if b.Phase != want {
					t.Errorf("it becomes %s", b.Phase)
				}
				told := lines[want]
				if p.shut() && !want.shut() {
					told = "health-recovered"
				}
				if want == p {
					told = ""
				}
				if got := strings.Join(b.lines, " "); got != told {
					t.Errorf("told %q, want %q", got, told)
				}
			})
		}
	}
	for _, tt := range []struct {
		name string
		b    *bench
		want Phase
	}{
		{"Z85 the third failure opens it", fresh(usual).saw(Transport, Server, Transport), Open},
		{"Z85 two do not", fresh(usual).saw(Transport, Server), Suspect},
		{"Z85 the number is the operator's: one", fresh(Policy{OpenAfter: 1, Window: time.Minute, Cooldown: time.Minute, ErrorPct: 100, MinSamples: 20}).saw(Server), Open},
		{"Z67 a turn that was answered between them clears what went before", fresh(usual).saw(Transport, Server, Success, Transport, Server), Suspect},
		{"Z67 failures further apart than the window are not counted together", fresh(usual).saw(Transport, Server).after(usual.Window).saw(Transport), Suspect},
		{"Z100 a suspect route heals when what was seen of it has aged", fresh(usual).saw(Transport, Server).after(usual.Window), Healthy},
		{"Z69 a refused account is tried again after the same cooldown", fresh(usual).saw(Denied).after(usual.Cooldown), HalfOpen},
		{"Z69 and not before", fresh(usual).saw(Denied).after(usual.Cooldown - time.Second), Unavailable},
		{"Z69 refused again: unavailable again", fresh(usual).saw(Denied).after(usual.Cooldown).saw(Denied), Unavailable},
		{"Z83 a half-open route that nobody tries for a day is as any other", fresh(usual).saw(Denied).after(usual.Cooldown + forgotten), Healthy},
		{"Z83 and not before", fresh(usual).saw(Denied).after(usual.Cooldown + forgotten - time.Second), HalfOpen},
		{"Z78 a trial that fails opens it again, at once", fresh(usual).saw(Transport, Transport, Transport).after(time.Hour).saw(Server), Open},
		{"A failure during the cooldown does not make it longer", fresh(usual).saw(Transport, Transport, Transport).after(4 * time.Minute).saw(Transport).after(time.Minute), HalfOpen},
		{"A first word that is followed by no answer opens it again at once", fresh(usual).saw(Transport, Transport, Transport).after(usual.Cooldown).saw(Reached, Transport), Open},
		{"but after an answer it takes as many as ever", fresh(usual).saw(Transport, Transport, Transport).after(usual.Cooldown).saw(Reached, Success, Transport), Suspect},
		{"Z72 a turn that is answered after an outage leaves it degraded where the rate says so", fresh(usual).saw(Success, Success, Success, Success, Success, Transport, Transport, Transport).after(usual.Cooldown).saw(Success), Degraded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.b.Phase != tt.want {
				t.Errorf("%s, told %q", tt.b.Phase, tt.b.lines)
			}
		})
	}
}

func TestDegraded(t *testing.T) {
	slow := usual
	slow.TTFT = 20 * time.Second
	first := func(b *bench, ds ...time.Duration) *bench {
		for _, d := range ds {
			b.now = b.now.Add(time.Second)
			b.n++
			b.fold(Outcome{Kind: Success, ID: fmt.Sprintf("r-%d", b.n), At: b.now, First: d})
		}
		return b
	}
	times := func(n int, d time.Duration) (out []time.Duration) {
		for range n {
			out = append(out, d)
		}
		return out
	}
	oks := func(n int) (out []Kind) {
		for range n {
			out = append(out, Success)
		}
		return out
	}
	for _, tt := range []struct {
		name string
		b    *bench
		want Phase
	}{
		{"Z72 two of eight failed: on the line", fresh(usual).saw(Transport, Server).saw(oks(6)...), Degraded},
		{"Z72 two of seven are too few to say", fresh(usual).saw(Transport, Server).saw(oks(5)...), Healthy},
		{"Z72 two of nine are below the line", fresh(usual).saw(oks(7)...).saw(Transport, Server), Suspect},
		{"Z72 one answered turn does not clear it", fresh(usual).saw(Transport, Server).saw(oks(7)...), Degraded},
		{"Z72 nor does half the rate exactly: two of sixteen", fresh(usual).saw(Transport, Server).saw(oks(14)...), Degraded},
		{"Z72 below half the rate it is restored", fresh(usual).saw(Transport, Server).saw(oks(15)...), Healthy},
		{"Z72 and when what degraded it has aged out", fresh(usual).saw(Transport, Server).saw(oks(6)...).after(usual.Window), Healthy},
		{"Z73 latency counts only where the operator says how slow is too slow", first(fresh(usual), times(20, time.Hour)...), Healthy},
		{"Z72 Z73 a median at the line degrades", first(fresh(slow), times(8, 20*time.Second)...), Degraded},
		{"Z72 seven turns are too few to say", first(fresh(slow), times(7, time.Minute)...), Healthy},
		{"Z72 three quarters of the line do not restore it", first(first(fresh(slow), times(8, 20*time.Second)...), times(9, 15*time.Second)...), Degraded},
		{"Z72 less does", first(first(fresh(slow), times(8, 20*time.Second)...), times(9, 14*time.Second)...), Healthy},
		{"Z73 latency never opens", first(fresh(slow), times(40, time.Hour)...), Degraded},
		{"Z87 the forty-first answer drops the failures that are older than the rest", fresh(usual).saw(Transport, Server).saw(oks(6)...).saw(oks(34)...), Healthy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.b.Phase != tt.want {
				t.Errorf("%s, told %q", tt.b.Phase, tt.b.lines)
			}
		})
	}
	t.Run("Z84 degraded and restored are told once each", func(t *testing.T) {
		b := fresh(usual).saw(Transport, Server).saw(oks(30)...)
		if got := strings.Join(b.lines, " "); got != "health-degraded health-restored" {
			t.Error(got)
		}
	})
	t.Run("Z87 a ring that overflows takes older marks of the other one along", func(t *testing.T) {
		p := usual
		p.Window, p.OpenAfter = time.Hour, MaxFails
		b := fresh(p).saw(Transport, Transport).saw(oks(41)...)
		if errs, all := b.rate(b.now, p); errs != 0 || all != maxOks {
			t.Errorf("%d of %d", errs, all)
		}
		if len(b.Oks) != maxOks {
			t.Errorf("%d are kept", len(b.Oks))
		}
		for range 3 * MaxFails {
			b.saw(Server)
		}
		if len(b.Fails) != MaxFails {
			t.Errorf("%d are kept", len(b.Fails))
		}
	})
}

func TestEachOnce(t *testing.T) {
	t.Run("Z86 the same outcome twice counts once", func(t *testing.T) {
		b := fresh(usual)
		for range 5 {
			b.fold(Outcome{Kind: Transport, ID: "r-1", At: now.Add(-time.Minute)})
		}
		if b.Phase != Suspect || len(b.Fails) != 1 {
			t.Errorf("%s with %d", b.Phase, len(b.Fails))
		}
	})
	t.Run("Z86 what is older than the window is history, a refused account too", func(t *testing.T) {
		b := fresh(usual)
		for i, k := range []Kind{Transport, Server, Transport, Denied, Success} {
			b.fold(Outcome{Kind: k, ID: fmt.Sprint(i), At: now.Add(-usual.Window)})
		}
		if diff := cmp.Diff(Record{Route: route}, b.Record); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("Z86 healing keeps what was seen: the failures that opened it, read again, change nothing", func(t *testing.T) {
		b := fresh(usual).saw(Transport, Transport, Transport).after(usual.Cooldown).saw(Success)
		healed := b.Record
		for i := range 3 {
			b.fold(Outcome{Kind: Transport, ID: fmt.Sprintf("r-%d", i+1), At: now.Add(time.Duration(i+1) * time.Second)})
		}
		if diff := cmp.Diff(healed, b.Record); diff != "" || b.Phase != Healthy {
			t.Error(b.Phase, diff)
		}
	})
	t.Run("Z86 an outcome without a time counts only where it is news", func(t *testing.T) {
		b := fresh(usual)
		b.fold(Outcome{Kind: Denied, ID: "old"})
		if b.Phase != Healthy {
			t.Error(b.Phase)
		}
		b.fold(Outcome{Kind: Denied, ID: "new", New: true})
		if b.Phase != Unavailable || !b.Bad.Equal(now) {
			t.Errorf("%+v", b.Record)
		}
	})
	t.Run("Z86 a failure that is read late, from before an answered turn, opens nothing", func(t *testing.T) {
		b := fresh(usual).saw(Success)
		for i := range 5 {
			b.fold(Outcome{Kind: Transport, ID: fmt.Sprint("late", i), At: now.Add(-time.Minute)})
		}
		if b.Phase == Open {
			t.Error("it opened")
		}
	})
	late := func(b *bench, k Kind, at time.Time) *bench {
		return b.fold(Outcome{Kind: k, ID: "late", At: at})
	}
	for _, tt := range []struct {
		name string
		b    *bench
		want Phase
	}{
		{"Z86 an answer from before the last failure, read late, ends no outage", late(fresh(usual).saw(Transport, Transport, Transport), Success, now), Open},
		{"Z86 a failure from before the cooldown's end, read late, does not open it again", late(fresh(usual).saw(Transport, Transport, Transport).after(usual.Cooldown), Transport, now.Add(4*time.Minute)), HalfOpen},
		{"Z86 a failure from before an answered turn, read late, does not end a new beginning", late(fresh(usual).saw(Success, Transport, Transport, Transport).after(usual.Cooldown).saw(Reached), Transport, now), Suspect},
		{"Z86 a refusal from before an answered turn, read late, shuts nothing", late(fresh(usual).saw(Success), Denied, now), Healthy},
		{"Z86 nor does one from before the last failure", late(fresh(usual).saw(Transport), Denied, now), Suspect},
		{"Z86 nor one from before what a full ring dropped", late(&bench{Record: Record{Route: route, Floor: now}, p: usual, now: now.Add(time.Minute)}, Denied, now), Healthy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.b.Phase != tt.want {
				t.Errorf("%s, told %q", tt.b.Phase, tt.b.lines)
			}
		})
	}
	t.Run("Z86 what a full ring dropped is not counted anew", func(t *testing.T) {
		p := usual
		p.OpenAfter = MaxFails
		b := fresh(p)
		for i := range maxOks + 1 {
			b.fold(Outcome{Kind: Success, ID: fmt.Sprint(i), At: now.Add(time.Duration(i-100) * time.Second)})
		}
		was := b.Record
		b.fold(Outcome{Kind: Success, ID: "0", At: now.Add(-100 * time.Second)})
		if diff := cmp.Diff(was, b.Record); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a record is read back as it was written", func(t *testing.T) {
		b := in(HalfOpen)
		b.admit("r-x")
		text, err := json.Marshal(b.Record)
		if err != nil {
			t.Fatal(err)
		}
		var back Record
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b.Record, back); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTrial(t *testing.T) {
	t.Run("Z77 a half-open route admits one, by name; the next is told whose it is and when it frees", func(t *testing.T) {
		b := in(HalfOpen)
		if v := b.admit("r-a"); !v.OK || !v.Claimed || strings.Join(b.lines, " ") != "health-trial" {
			t.Errorf("%+v, told %q", v, b.lines)
		}
		b.after(12 * time.Second)
		v := b.admit("r-b")
		if v.OK || v.Why != "route health half-open: trial in flight: r-a (12s); it frees in ~5m (estimate)" || !v.Back.Equal(b.Trial.Until) {
			t.Errorf("%+v", v)
		}
		if v := b.admit("r-a"); !v.OK || v.Claimed {
			t.Errorf("its holder asks again: %+v", v)
		}
	})
	t.Run("Z78 the claim expires after the cooldown", func(t *testing.T) {
		b := in(HalfOpen)
		b.admit("r-a")
		if v := b.after(usual.Cooldown - time.Second).admit("r-b"); v.OK {
			t.Errorf("%+v", v)
		}
		if v := b.after(time.Second).admit("r-b"); !v.OK || b.Trial.Who != "r-b" {
			t.Errorf("%+v", v)
		}
	})
	for k, want := range map[Kind]Phase{Success: Healthy, Reached: Suspect, Transport: Open, Denied: Unavailable} {
		t.Run("Z78 "+k.String()+" ends the trial", func(t *testing.T) {
			b := in(HalfOpen)
			b.admit("r-a")
			b.after(time.Second).fold(Outcome{Kind: k, ID: "r-a", At: b.now})
			if b.Phase != want || b.Trial.Who != "" {
				t.Errorf("%s, trial %+v", b.Phase, b.Trial)
			}
		})
	}
	for _, k := range []Kind{Nothing, Capacity, Session, ModelRefused} {
		t.Run("Z70 Z77 a trial that ends in "+k.String()+" says nothing of the route: somebody else may try", func(t *testing.T) {
			b := in(HalfOpen)
			b.admit("r-a")
			b.after(time.Second).fold(Outcome{Kind: k, ID: "r-z", At: b.now})
			if b.Trial.Who != "r-a" {
				t.Error("another's ending freed it")
			}
			b.after(time.Second).fold(Outcome{Kind: k, ID: "r-a", At: b.now})
			if v := b.admit("r-b"); b.Phase != HalfOpen || !v.OK {
				t.Errorf("%s, %+v", b.Phase, v)
			}
		})
	}
	for _, p := range phases {
		want := p != Open && p != Unavailable
		t.Run(fmt.Sprintf("Z79 Z100 %s admits: %t", p, want), func(t *testing.T) {
			b := in(p)
			v := b.admit("r-a")
			if v.OK != want || v.OK != (v.Why == "") || v.OK != v.Back.IsZero() {
				t.Errorf("%+v", v)
			}
		})
	}
}

func TestShared(t *testing.T) {
	gateway := func(account string) Route {
		return Route{Account: account, Endpoint: "gw.internal:4000", Configured: true}
	}
	open := func(r Route) Record {
		b := fresh(usual)
		b.Route = r
		return b.saw(Transport, Transport, Transport).Record
	}
	denied := open(gateway("claude"))
	denied.Phase = Unavailable
	weak := open(gateway("claude"))
	weak.Phase, weak.Erring = Degraded, true
	native := Route{Account: "claude", Endpoint: "api.anthropic.com:443"}
	other := gateway("claude")
	other.Endpoint = "gw.internal:4001"
	for _, tt := range []struct {
		name string
		r    Record
		ask  Route
		want bool
	}{
		{"Z75 an open breaker denies another account that was pointed at the same host and port", open(gateway("claude")), gateway("codex"), true},
		{"Z75 another port is another endpoint", open(other), gateway("codex"), false},
		{"Z75 programs' own addresses are independent", open(native), Route{Account: "second", Endpoint: native.Endpoint}, false},
		{"Z75 also where one of the two was only configured to be it", open(native), Route{Account: "second", Endpoint: native.Endpoint, Configured: true}, false},
		{"Z75 a refused account is its own affair", denied, gateway("codex"), false},
		{"Z75 and so is being slow", weak, gateway("codex"), false},
		{"Z75 a route does not deny itself by this", open(gateway("codex")), gateway("codex"), false},
		{"Z75 two without an address share nothing", open(Route{Account: "claude", Configured: true}), Route{Account: "codex", Configured: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := Shared([]Record{tt.r}, tt.ask, now.Add(time.Minute), usual); got != tt.want {
				t.Errorf("%t", got)
			}
		})
	}
	t.Run("Z75 a gateway that is half-open denies nobody else", func(t *testing.T) {
		if _, got := Shared([]Record{open(gateway("claude"))}, gateway("codex"), now.Add(usual.Cooldown+time.Minute), usual); got {
			t.Error("denied")
		}
	})
}

func TestSays(t *testing.T) {
	model := func(b *bench, m string, kinds ...Kind) *bench {
		for _, k := range kinds {
			b.now = b.now.Add(time.Second)
			b.n++
			b.fold(Outcome{Kind: k, ID: fmt.Sprint(b.n), At: b.now, Model: m, Code: map[Kind]string{Server: "overloaded_error", Denied: "authentication_error"}[k]})
		}
		return b
	}
	trial := in(HalfOpen)
	trial.now = trial.now.Add(6 * time.Minute)
	trial.keep(Age(trial.Record, trial.now, usual))
	trial.admit("7f3a2b1c")
	trial.after(12 * time.Second)
	for _, tt := range []struct {
		name string
		b    *bench
		want string
		deny string
	}{
		{"Z89 nothing where all is well", fresh(usual).saw(Success), "", ""},
		{
			"Z101 open", model(fresh(usual), "opus", Transport, Transport, Transport),
			"health: claude open (3 transport/server error(s), last model opus; next health check ~unix 1796090703 (estimate))",
			"route health open: 3 transport error(s) in 10m; next health check in ~5m (estimate)",
		},
		{
			"Z101 degraded", fresh(usual).saw(Transport, Server, Success, Success, Success, Success, Success, Success),
			"health: claude degraded (2 transport/server error(s); claude: error rate 25% over 8 turns)", "",
		},
		{
			"Z101 half-open, with its trial", trial,
			"health: claude half-open (0 transport/server error(s); trial in flight: 7f3a2b1c (12s))",
			"route health half-open: trial in flight: 7f3a2b1c (12s); it frees in ~5m (estimate)",
		},
		{"Z89 suspect", fresh(usual).saw(Transport), "health: claude suspect (1 transport/server error(s))", ""},
		{
			"Z68 Z89 unavailable names the vendor's word", model(fresh(usual), "", Denied),
			"health: claude unavailable (0 transport/server error(s); its vendor refused the account (authentication_error); next health check ~unix 1796090701 (estimate))",
			"route health unavailable: its vendor refused the account (authentication_error); next health check in ~5m (estimate)",
		},
		{
			"bug-46 a burst of 529 is told as the server's overload, with no word of an allowance", model(fresh(usual), "", Server, Server, Server),
			"health: claude open (3 transport/server error(s); next health check ~unix 1796090703 (estimate)): server overloaded",
			"route health open: 3 server error(s) in 10m, server overloaded; next health check in ~5m (estimate)",
		},
		{
			"bug-49 several models that fail alike name the endpoint", model(model(fresh(usual), "opus", Server), "sonnet", Transport),
			"health: claude suspect (2 transport/server error(s), last model sonnet): opus and sonnet fail alike through api.anthropic.com:443, so the endpoint is suspected", "",
		},
		{
			"bug-49 also where each time the model was blamed", model(model(fresh(usual), "opus", ModelRefused), "sonnet", ModelRefused),
			"health: claude suspect (0 transport/server error(s), last model sonnet): opus and sonnet fail alike through api.anthropic.com:443, so the endpoint is suspected", "",
		},
		{"bug-49 one model that is refused is the engine's own affair", model(fresh(usual), "opus", ModelRefused, ModelRefused), "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Says(tt.b.Record, tt.b.now, usual); got != tt.want {
				t.Errorf("says %s\nwant %s", got, tt.want)
			}
			if got, _ := Denies(tt.b.Record, tt.b.now, usual); got != tt.deny {
				t.Errorf("denies %s\nwant %s", got, tt.deny)
			}
		})
	}
}

func TestBugs(t *testing.T) {
	t.Run("bug-46 five accounts overloaded at once: a short fixed cooldown each, and all are back after it", func(t *testing.T) {
		for range 5 {
			b := fresh(usual).saw(Server, Server, Server, Server, Server)
			if b.Phase != Open || b.Until.Sub(b.Since) != usual.Cooldown {
				t.Errorf("%s for %s", b.Phase, b.Until.Sub(b.Since))
			}
			if b.after(usual.Cooldown).saw(Success); b.Phase != Healthy {
				t.Error(b.Phase)
			}
		}
	})
	t.Run("bug-47 a bare 429 between answers is the request's affair: no cooldown, no count", func(t *testing.T) {
		k := Of(paceline.Failure{Cause: paceline.CauseThrottle, Code: "rate_limit", Status: 429})
		b := fresh(usual).saw(Success)
		was := b.Record
		if b.saw(k, k, k, k); !cmp.Equal(was, b.Record) {
			t.Error(cmp.Diff(was, b.Record))
		}
	})
}

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    paceline.Failure
		want Kind
	}{
		{"Z67 no answer", paceline.Failure{Cause: paceline.CauseTransport, Code: "connection_failed"}, Transport},
		{"Z67 a server's failure", paceline.Failure{Cause: paceline.CauseServer, Status: 529, Code: "overloaded_error"}, Server},
		{"a stall is no answer in time", paceline.Failure{Cause: paceline.CauseStall}, Transport},
		{"Z68 a structured 401", paceline.Failure{Cause: paceline.CauseAuth, Status: 401}, Denied},
		{"Z68 a structured 403 of which the cause is not known", paceline.Failure{Cause: paceline.CauseOther, Status: 403}, Denied},
		{"Z68 a structured 404", paceline.Failure{Cause: paceline.CauseTransport, Status: 404}, Denied},
		{"Z68 authentication_error", paceline.Failure{Cause: paceline.CauseAuth, Code: "authentication_error"}, Denied},
		{"Z68 invalid_api_key", paceline.Failure{Cause: paceline.CauseAuth, Code: "invalid_api_key"}, Denied},
		{"Z68 permission_error", paceline.Failure{Cause: paceline.CauseAuth, Code: "permission_error"}, Denied},
		{"Z68 Z71 somebody's words for a sign-out are none", paceline.Failure{Cause: paceline.CauseAuth, Notice: "permission denied: please sign in"}, Nothing},
		{"Z68 nor is a code that names nothing", paceline.Failure{Cause: paceline.CauseAuth, Code: "other", Notice: "401 Unauthorized"}, Nothing},
		{"Z68 a model that is not there is the engine's, whatever its status", paceline.Failure{Cause: paceline.CauseModel, Status: 404}, ModelRefused},
		{"Z70 a rate limit is capacity", paceline.Failure{Cause: paceline.CauseThrottle, Status: 429}, Capacity},
		{"Z70 and a usage limit, whatever its status", paceline.Failure{Cause: paceline.CauseUsageLimit, Status: 403}, Capacity},
		{"Z70 and an empty purse", paceline.Failure{Cause: paceline.CauseBilling, Status: 402}, Capacity},
		{"Z70 an overflow is the session's", paceline.Failure{Cause: paceline.CauseContext}, Session},
		{"Z70 what nobody attributed changes nothing", paceline.Failure{Cause: paceline.CauseOther, Notice: "connection refused"}, Nothing},
		{"a crash is the program's", paceline.Failure{Cause: paceline.CauseCrash}, Nothing},
		{"a stop is its user's", paceline.Failure{Cause: paceline.CauseStopped}, Nothing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Of(tt.f); got != tt.want {
				t.Error(got)
			}
		})
	}
	for c := paceline.CauseUnknown; c <= paceline.CauseOther; c++ {
		if k := Of(paceline.Failure{Cause: c}); k == Success || k == Reached {
			t.Errorf("%s: %s", c, k)
		}
	}
}
