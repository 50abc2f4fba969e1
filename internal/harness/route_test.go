package harness

import (
	"testing"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/health"
)

func TestRoute(t *testing.T) {
	for _, tt := range []struct{ name, endpoint, want string }{
		{"Z76 a port that is not named is the scheme's", "https://gw.internal/v1", "gw.internal:443"},
		{"Z76 of http too", "http://gw.internal", "gw.internal:80"},
		{"Z76 a name is the same in capitals", "HTTP://GW.Internal:4000", "gw.internal:4000"},
		{"Z76 a path, a question and what follows are dropped", "http://gw:4000?token=x#y", "gw:4000"},
		{"Z76 a user and a password are dropped", "http://ada:se%cret@gw:4000/v1", "gw:4000"},
		{"Z76 also where they hold what no address may", "http://ada:p@ss:w0rd@gw:4000/v1", "gw:4000"},
		{"Z76 an address in figures", "http://[::1]:4000/", "[::1]:4000"},
		{"Z76 what is none has no route, and is not repeated", "se cret", ""},
		{"Z76 nor has one without a host", "http://user@/path", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := route(tt.endpoint); got != tt.want {
				t.Errorf("%q", got)
			}
		})
	}
	named := func(name string) Harness {
		h, ok := Named(name)
		if !ok {
			t.Fatal(name)
		}
		return h
	}
	for _, tt := range []struct {
		name string
		h    string
		a    paceline.Account
		env  Environment
		want health.Route
	}{
		{"Z75 a program's own address is nobody's configuration", "claude", paceline.Account{Name: "claude"}, nil, health.Route{Account: "claude", Endpoint: "api.anthropic.com:443"}},
		{"Z75 a second account of it is another route", "claude", paceline.Account{Name: "second", Home: "/x"}, nil, health.Route{Account: "second", Endpoint: "api.anthropic.com:443"}},
		{"Z75 base_url is one", "codex", paceline.Account{Name: "codex", BaseURL: "http://ada@gw:4000/v1"}, nil, health.Route{Account: "codex", Endpoint: "gw:4000", Configured: true}},
		{"Z75 and so is the program's own variable", "claude", paceline.Account{Name: "claude"}, Environment{"ANTHROPIC_BASE_URL=http://gw:4000/x"}, health.Route{Account: "claude", Endpoint: "gw:4000", Configured: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Route(named(tt.h), tt.a, tt.env); got != tt.want {
				t.Errorf("%+v", got)
			}
		})
	}
}
