package harness

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"iter"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/health"
	"github.com/paceline/paceline/internal/wire"
)

// keyed adds the key of a declared metered account, under the name that its
// program reads. Every other account's child gets none.
func keyed(a paceline.Account, env Environment, name string) Environment {
	if a.Posture != paceline.PostureMetered || a.Key == "" {
		return env
	}
	return env.With(name + "=" + a.Key)
}

// route is the host:port of an endpoint; "" where it is none. Whatever else an
// address holds may be a secret, and is dropped before anything is parsed (Z76).
func route(endpoint string) string {
	scheme, rest, ok := strings.Cut(endpoint, "://")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(strings.ReplaceAll(strings.ReplaceAll(rest, "?", "/"), "#", "/"), "/")
	host := rest[strings.LastIndexByte(rest, '@')+1:]
	u, err := url.Parse("//" + host)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	if u.Port() == "" && strings.EqualFold(scheme, "http") {
		port = "80"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// Route is what the health of an account's connection belongs to. An address that
// somebody put in the place of the program's own, in the configuration or in the
// environment, is one that others may share.
func Route(h Harness, a paceline.Account, env Environment) health.Route {
	r := health.Route{Account: a.Name, Endpoint: h.Route(a, env)}
	r.Configured = a.BaseURL != "" || r.Endpoint != h.Route(paceline.Account{Name: a.Name, Harness: a.Harness}, nil)
	return r
}

// lines yields the lines of a transcript; of an overlong one, its head.
func lines(r io.Reader) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := wire.ReadLine(in)
			if len(bytes.TrimSpace(line)) > 0 && !yield(line) {
				return
			}
			if err != nil {
				return
			}
		}
	}
}

// drop leaves out the events of one kind.
func drop(events []wire.Event, k wire.EventKind) []wire.Event {
	return slices.DeleteFunc(events, func(e wire.Event) bool { return e.Kind == k })
}

// fresh starts one more process of the account, beside the run's own, and lets
// ask put its question to it. Nothing is sent to a model.
func fresh(ctx context.Context, h Harness, l Launch, ask func(*Turn) (accepted, known bool)) (accepted, known bool) {
	l.Resume, l.Lock, l.Run = "", l.Lock+".probe", l.Run+"-probe"
	t, err := h.Open(ctx, l)
	if err != nil {
		return false, false
	}
	defer func() { _ = t.abandon(nil) }()
	if t.Opened.SignedOut {
		return false, true
	}
	return ask(t)
}
