package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/health"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/supervisor"
)

// Conn is a client's way to its server. Errors that a person is to be told are
// *supervisor.Refusal; ErrLeaving and ErrCut say to look for the next server.
type Conn struct {
	Socket  string
	Version string

	http *http.Client
}

// What a client does not tell people, since another server may answer.
var (
	ErrNobody  = errors.New("no server is running")
	ErrLeaving = errors.New("the server is leaving")
	ErrCut     = errors.New("the connection to the server was lost")
)

// Dial returns a Conn. No connection is made yet.
func Dial(socket, version string) *Conn {
	return &Conn{Socket: socket, Version: version, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}}
}

// Close gives up connections that are not in use.
func (c *Conn) Close() { c.http.CloseIdleConnections() }

// Info asks the server who it is.
func (c *Conn) Info(ctx context.Context) (i Info, err error) {
	return i, c.do(ctx, http.MethodGet, "/v1/server", nil, &i)
}

// Hello is Info for a command that tells a person what the server has to say.
func (c *Conn) Hello(ctx context.Context) (i Info, err error) {
	return i, c.do(ctx, http.MethodGet, "/v1/server?hello=1", nil, &i)
}

// Prompt has a message accepted.
func (c *Conn) Prompt(ctx context.Context, p Prompt) (a Accepted, err error) {
	return a, c.do(ctx, http.MethodPost, "/v1/prompts", p, &a)
}

// Wake has a thread carried on in which something is open.
func (c *Conn) Wake(ctx context.Context, id paceline.ThreadID, who Client) error {
	return c.do(ctx, http.MethodPost, at(id, "wake"), who, nil)
}

// Stop ends what runs in a thread and what waits behind it.
func (c *Conn) Stop(ctx context.Context, id paceline.ThreadID) error {
	return c.do(ctx, http.MethodPost, at(id, "stop"), nil, nil)
}

// Answer answers what a run asks.
func (c *Conn) Answer(ctx context.Context, id paceline.ThreadID, q paceline.RequestID, allow bool) error {
	return c.do(ctx, http.MethodPost, at(id, "requests/"+url.PathEscape(string(q))), decision{Allow: allow}, nil)
}

// Trust agrees to the project files of this digest; "" asks what there is to
// agree to.
func (c *Conn) Trust(ctx context.Context, dir, tree, digest string) error {
	return c.do(ctx, http.MethodPost, "/v1/trust", trust{Dir: dir, Tree: tree, Digest: digest}, nil)
}

// Reconcile says of calls, by their items, whether they took effect.
func (c *Conn) Reconcile(ctx context.Context, id paceline.ThreadID, took map[int64]bool) error {
	return c.do(ctx, http.MethodPost, at(id, "reconcile"), found{Took: took}, nil)
}

// Seat asks something of a thread's seat.
func (c *Conn) Seat(ctx context.Context, id paceline.ThreadID, w supervisor.Wish) (a run.Answer, err error) {
	return a, c.do(ctx, http.MethodPost, at(id, "seat"), w, &a)
}

// Clear drops what is held against an engine.
func (c *Conn) Clear(ctx context.Context, e paceline.Engine) error {
	return c.do(ctx, http.MethodPost, "/v1/limits/clear", e, nil)
}

// Heal forgets what a route did.
func (c *Conn) Heal(ctx context.Context, r health.Route) error {
	return c.do(ctx, http.MethodPost, "/v1/health/reset", r, nil)
}

// Drain has the server leave when its turns have ended.
func (c *Conn) Drain(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/server/drain", nil, nil)
}

// Leave has the server leave now.
func (c *Conn) Leave(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/v1/server/stop", nil, nil)
}

// Follow hands over a thread's events behind an offset, until nothing in the
// thread is open (nil), take returns false (nil), or the server is lost
// (ErrCut). terminal tells the server that a person watches.
func (c *Conn) Follow(ctx context.Context, id paceline.ThreadID, after string, terminal bool, take func(supervisor.Event) bool) error {
	q := url.Values{"after": {after}}
	if terminal {
		q.Set("terminal", "1")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	res, err := c.send(ctx, http.MethodGet, at(id, "events")+"?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return ErrCut
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var l Line
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("read the server's events: %w", err)
		}
		if l.Trouble != nil {
			return l.Trouble
		}
		if l.Event != nil && !take(*l.Event) {
			return nil
		}
	}
}

func at(id paceline.ThreadID, what string) string {
	return "/v1/threads/" + url.PathEscape(string(id)) + "/" + what
}

func (c *Conn) do(ctx context.Context, method, path string, in, out any) error {
	res, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return ErrCut
	}
	return nil
}

func (c *Conn) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://paceline"+path, body)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	req.Header.Set(versionHeader, c.Version)
	res, err := c.http.Do(req)
	var dial *net.OpError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &dial) && dial.Op == "dial":
		return nil, ErrNobody
	default:
		return nil, ErrCut
	}
	if res.StatusCode < 300 {
		return res, nil
	}
	defer res.Body.Close()
	why := &supervisor.Refusal{Code: 1}
	if err := json.NewDecoder(res.Body).Decode(why); err != nil || why.Msg == "" {
		why.Msg, why.Hint = "the server answered "+res.Status, "client and server may be of different versions: `paceline server drain`"
	}
	if res.StatusCode == http.StatusServiceUnavailable {
		return nil, ErrLeaving
	}
	return nil, why
}
