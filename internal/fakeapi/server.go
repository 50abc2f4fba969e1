package fakeapi

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server is one loopback listener that speaks Anthropic Messages, OpenAI
// Responses, Gemini's API and chat completions.
type Server struct {
	url    string
	http   *http.Server
	ctx    context.Context // ends what hangs
	cancel context.CancelFunc
	live   sync.WaitGroup // the listener's loop and every request in hand
	unhook func() bool

	mu      sync.Mutex
	closed  bool
	parts   map[Vendor]*part
	usage   *UsageLimit // pinned by the script
	spent   map[Vendor]*UsageLimit
	out     bool // OpenAI's last word was that nobody is signed in: no refresh helps
	asked   []Request
	keys    map[string]bool
	changed chan struct{} // closed, and made anew, whenever asked changes
	ids     int
}

// Start listens on a free port of 127.0.0.1 until ctx ends or Close is called.
func Start(ctx context.Context, script Script) (*Server, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the scripted API: %w", err)
	}
	s := &Server{
		url:     "http://" + l.Addr().String(),
		parts:   map[Vendor]*part{},
		usage:   script.Usage,
		spent:   map[Vendor]*UsageLimit{},
		keys:    map[string]bool{},
		changed: make(chan struct{}),
	}
	for v, steps := range map[Vendor][]Step{Anthropic: script.Anthropic, OpenAI: script.OpenAI, Google: script.Google, Chat: script.Chat} {
		s.parts[v] = &part{held: map[string]Answer{}}
		s.parts[v].add(steps...)
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	s.live.Go(func() { _ = s.http.Serve(l) })
	s.unhook = context.AfterFunc(ctx, s.stop)
	return s, nil
}

// URL is the server's root, without a slash at its end.
func (s *Server) URL() string { return s.url }

// Close ends the server and every request in hand.
func (s *Server) Close() error {
	s.unhook()
	s.stop()
	s.live.Wait()
	return nil
}

func (s *Server) stop() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	_ = s.http.Close()
}

// enter counts a request in, unless Close may already be waiting for the last.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.live.Add(1)
	return true
}

// Play adds answers at the end of a vendor's script.
func (s *Server) Play(v Vendor, steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[v].add(steps...)
}

// exchange is one request and its answer in the making.
type exchange struct {
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	body []byte
	req  Request
	at   int // its place among the requests
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.live.Done()
	x := &exchange{s: s, w: w, r: r}
	x.req = Request{Method: r.Method, Path: r.URL.Path, At: time.Now(), Auth: authKind(r.Header)}
	if r.Method == http.MethodConnect {
		// A program that was given this server as its proxy wants out.
		x.req.Path = r.Host
		x.begin()
		x.status(http.StatusForbidden, nil)
		return
	}
	body, err := readBody(r)
	x.body, x.req.body = body, body
	x.req.Vendor = vendorOf(r)
	switch {
	case err != nil:
		x.begin()
		x.status(http.StatusUnsupportedMediaType, map[string]any{"error": map[string]any{"message": err.Error()}})
	case x.req.Vendor == Anthropic:
		x.anthropic()
	case x.req.Vendor == OpenAI:
		x.openai()
	case x.req.Vendor == Google:
		x.google()
	case x.req.Vendor == Chat:
		x.chat()
	default: // probes of the root, and telemetry
		x.begin()
		x.status(http.StatusOK, map[string]any{})
	}
}

// vendorOf tells whose API is asked; "" is neither's.
func vendorOf(r *http.Request) Vendor {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/v1/messages"), strings.HasPrefix(path, "/api/"), r.Header.Get("Anthropic-Version") != "":
		return Anthropic
	case strings.HasPrefix(path, "/v1beta/"):
		return Google
	case path == "/v1/chat/completions":
		return Chat
	case strings.HasPrefix(path, "/v1/"), strings.HasPrefix(path, "/backend-api/"), strings.HasPrefix(path, "/oauth/"):
		return OpenAI
	}
	return ""
}

// readBody undoes the encodings that the standard library knows. Codex packs
// its requests with zstd only for its built-in provider, which CodexEnv does
// not use.
func readBody(r *http.Request) ([]byte, error) {
	var body io.Reader = r.Body
	switch e := r.Header.Get("Content-Encoding"); e {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, fmt.Errorf("read a packed request: %w", err)
		}
		body = z
	default:
		return nil, fmt.Errorf("content encoding %q is not understood here", e)
	}
	b, err := io.ReadAll(io.LimitReader(body, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	return b, nil
}

// begin records the request; what is known of it must be filled in before.
func (x *exchange) begin() { x.req, x.at = x.s.record(x.req) }

// answer takes the next one from the script, and what it does to the account's
// allowance, in one step: an allowance query that comes next must not see the
// state of before.
func (x *exchange) answer() Answer {
	s, v := x.s, x.req.Vendor
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.parts[v].next(x.req)
	out := false
	switch a := a.(type) {
	case UsageLimit:
		a.Reset = a.at()
		s.spent[v] = &a
		return a
	case Throttle:
		s.spent[v] = nil
		if a.Hides != nil {
			hidden := *a.Hides
			hidden.Reset = hidden.at()
			s.spent[v] = &hidden
		}
	case Text, Reasoning, ToolCall, Overage:
		s.spent[v] = nil
	case SignedOut:
		out = true
	}
	if v == OpenAI {
		s.out = out
	}
	return a
}

// allowance is what is known to be spent; nil is that plenty is left.
func (s *Server) allowance(v Vendor) *UsageLimit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usage != nil {
		return s.usage
	}
	return s.spent[v]
}

// id makes a name that no other answer of this server bears. The programs tell
// messages and calls apart by them.
func (s *Server) id(kind string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids++
	return fmt.Sprintf("%s_fake%08d", kind, s.ids)
}
