package api

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/paceline/paceline"
	"github.com/paceline/paceline/internal/guard"
	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/health"
	"github.com/paceline/paceline/internal/run"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/supervisor"
)

// Server answers clients. All fields are needed.
type Server struct {
	Sup     *supervisor.Supervisor
	Store   *store.Store
	Version string
	Carried []paceline.ThreadID // what was taken up when it started
	Leave   func()              // ends the server; what is open stays open
	// Enter keeps the server from leaving until done is called; it is false where
	// the server is leaving already.
	Enter func() (done func(), ok bool)

	since time.Time
	mu    sync.Mutex
	lost  map[paceline.ThreadID]bool
}

// Serve answers on a listener until ctx ends. Streams that are open then are
// cut: whoever follows one asks the next server.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	s.since, s.lost = time.Now(), map[paceline.ThreadID]bool{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/server", s.info)
	mux.HandleFunc("POST /v1/prompts", s.prompt)
	mux.HandleFunc("POST /v1/threads/{thread}/wake", s.wake)
	mux.HandleFunc("POST /v1/threads/{thread}/stop", s.stop)
	mux.HandleFunc("POST /v1/threads/{thread}/requests/{request}", s.answer)
	mux.HandleFunc("POST /v1/threads/{thread}/reconcile", s.reconcile)
	mux.HandleFunc("POST /v1/threads/{thread}/seat", s.seat)
	mux.HandleFunc("GET /v1/threads/{thread}/events", s.events)
	mux.HandleFunc("POST /v1/teams", s.beginTeam)
	mux.HandleFunc("POST /v1/threads/{thread}/team", s.tell)
	mux.HandleFunc("POST /v1/trust/team", s.trustTeam)
	mux.HandleFunc("POST /v1/trust", s.trust)
	mux.HandleFunc("POST /v1/limits/clear", s.clear)
	mux.HandleFunc("POST /v1/health/reset", s.heal)
	mux.HandleFunc("POST /v1/server/drain", s.drain)
	mux.HandleFunc("POST /v1/server/stop", s.leave)
	h := &http.Server{
		Handler:     s.door(mux),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if u, ok := c.(*net.UnixConn); ok {
				ctx = context.WithValue(ctx, peerKey{}, peer(u))
			}
			return ctx
		},
		ErrorLog: log.New(discard{}, "", 0), // a client that went away is no news
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		<-ctx.Done()
		_ = h.Close()
	}()
	err := h.Serve(l)
	<-gone
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

type peerKey struct{}

// door lets in who may come in. What belongs to a run may read, and nothing
// else: an agent must not approve its own requests, widen its own rights or
// keep itself going.
func (s *Server) door(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(versionHeader, s.Version)
		if r.Method != http.MethodGet {
			pid, _ := r.Context().Value(peerKey{}).(int)
			if pid != os.Getpid() && guard.Inside(pid) {
				refuse(w, http.StatusForbidden, &supervisor.Refusal{
					Msg:  "this was asked from inside a run",
					Hint: "an agent may look (threads, show, why, status), and nothing more; its user can do the rest from a terminal of his own",
					Code: 5,
				})
				return
			}
			done, ok := s.Enter()
			if !ok {
				refuse(w, http.StatusServiceUnavailable, &supervisor.Refusal{Msg: "the server is leaving", Hint: "try again", Code: 1})
				return
			}
			defer done()
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// maxBody bounds a request. The longest prompt is 4 MB, and twice that in JSON.
const maxBody = 32 << 20

func (s *Server) info(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	busy, _ := s.Sup.Busy()
	i := Info{
		Version: s.Version, Store: s.Store.Path(), Pid: os.Getpid(), Since: s.since.UTC(), Serving: busy,
		Lasting:  os.Getenv("INVOCATION_ID") != "" || os.Getenv("XPC_SERVICE_NAME") == "dev.paceline.server",
		Draining: s.Sup.Draining(), Heard: s.Sup.Heard(), Carried: s.Carried,
	}
	if since := s.Store.Away(); !since.IsZero() {
		since = since.UTC()
		i.Away = &since
	}
	if r.URL.Query().Get("hello") != "" { // one that tells it to a person
		for id := range s.lost {
			if busy, _ := s.Sup.Serving(id); busy {
				i.Lost = append(i.Lost, id)
			}
		}
		clear(s.lost) // said once
	}
	s.mu.Unlock()
	reply(w, i)
}

func (s *Server) prompt(w http.ResponseWriter, r *http.Request) {
	var p Prompt
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.ID == "" || (p.Thread == "") == (p.Begin == nil) {
		refuse(w, http.StatusBadRequest, &supervisor.Refusal{Msg: "the request cannot be read", Hint: "client and server may be of different versions", Code: 1})
		return
	}
	if s.Sup.Draining() {
		refuse(w, http.StatusServiceUnavailable, &supervisor.Refusal{Msg: "the server is being drained", Hint: "the next one takes it", Code: 1})
		return
	}
	a, err := s.accept(r.Context(), p)
	if err != nil {
		fail(w, err)
		return
	}
	s.Sup.Wake(a.Thread)
	reply(w, a)
}

// accept puts a prompt on record. The same id is accepted once, and answered
// alike.
func (s *Server) accept(ctx context.Context, p Prompt) (Accepted, error) {
	if m, err := s.Store.Message(ctx, p.ID); err == nil {
		th, err := s.Store.Thread(ctx, m.Thread)
		return accepted(th, m.ID, supervisor.Offset{}), err
	}
	env := harness.Environment(p.Client.Env)
	var th store.Thread
	var err error
	if p.Begin != nil {
		th, err = s.Sup.Begin(ctx, p.Begin.Dir, p.Begin.Tree, p.Text, p.Begin.Policy, env)
	} else if th, err = s.Store.Thread(ctx, p.Thread); err == nil {
		th.Env = env.Public()
		if err = s.Store.Mine(th); err == nil {
			err = s.Sup.Alone(ctx, th.ID)
		}
	}
	if err == nil {
		err = s.Sup.Vet(ctx, th.Dir, th.Tree, p.Trust)
	}
	if err != nil {
		return Accepted{}, err
	}
	m := paceline.Message{
		ID: p.ID, Thread: th.ID, Kind: paceline.KindPrompt, Sender: "user",
		Text: p.Text, UUID: harness.UUID(), At: time.Now(), Opener: p.Begin != nil, Patience: p.Patience,
	}
	if strings.HasPrefix(strings.TrimSpace(p.Text), "/") {
		m.Kind = paceline.KindSlash
	}
	s.Sup.Came(th.ID, env, p.Client.Keys)
	s.Sup.Attend(th.ID, p.Client.Attended)
	if p.Steer && !m.Opener {
		steered, at, err := s.Sup.Steer(ctx, &th, m)
		a := accepted(th, m.ID, at)
		a.Steered = steered
		return a, err
	}
	at, err := s.Sup.Accept(ctx, &th, m)
	return accepted(th, m.ID, at), err
}

func accepted(th store.Thread, m paceline.MessageID, at supervisor.Offset) Accepted {
	a := Accepted{Thread: th.ID, Message: m, Mode: th.Mode.String(), After: at.String()}
	for _, e := range th.Chain {
		a.Chain = append(a.Chain, e.String())
	}
	return a
}

// thread finds the thread that a request is about.
func (s *Server) thread(w http.ResponseWriter, r *http.Request) (id paceline.ThreadID, ok bool) {
	id = paceline.ThreadID(r.PathValue("thread"))
	th, err := s.Store.Thread(r.Context(), id)
	if err == nil && r.Method != http.MethodGet {
		err = s.Store.Mine(th)
	}
	if err != nil {
		fail(w, err)
		return id, false
	}
	return id, true
}

func (s *Server) wake(w http.ResponseWriter, r *http.Request) {
	id, ok := s.thread(w, r)
	if !ok {
		return
	}
	var c Client
	if err := json.NewDecoder(r.Body).Decode(&c); err == nil && len(c.Env) > 0 {
		s.Sup.Came(id, c.Env, c.Keys)
		s.Sup.Attend(id, c.Attended)
	}
	s.Sup.Wake(id)
	reply(w, struct{}{})
}

func (s *Server) stop(w http.ResponseWriter, r *http.Request) {
	id, ok := s.thread(w, r)
	if !ok {
		return
	}
	if err := s.Sup.Stop(context.WithoutCancel(r.Context()), id); err != nil {
		fail(w, err)
		return
	}
	reply(w, struct{}{})
}

func (s *Server) reconcile(w http.ResponseWriter, r *http.Request) {
	id, ok := s.thread(w, r)
	if !ok {
		return
	}
	var f found
	if err := json.NewDecoder(r.Body).Decode(&f); err != nil {
		refuse(w, http.StatusBadRequest, &supervisor.Refusal{Msg: "the request cannot be read", Code: 1})
		return
	}
	if err := s.Sup.Reconcile(context.WithoutCancel(r.Context()), id, f.Took); err != nil {
		fail(w, err)
		return
	}
	s.Sup.Wake(id)
	reply(w, struct{}{})
}

// seat answers a wish about a thread's seat. A message that waits may be what it
// is about.
func (s *Server) seat(w http.ResponseWriter, r *http.Request) {
	id, ok := s.thread(w, r)
	if !ok {
		return
	}
	var wish supervisor.Wish
	if err := json.NewDecoder(r.Body).Decode(&wish); err != nil {
		refuse(w, http.StatusBadRequest, &supervisor.Refusal{Msg: "the request cannot be read", Code: 1})
		return
	}
	a, err := s.Sup.Seat(r.Context(), id, wish)
	if err != nil {
		fail(w, err)
		return
	}
	reply(w, a)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	id, ok := s.thread(w, r)
	if !ok {
		return
	}
	var d decision
	if err := json.NewDecoder(r.Body).Decode(&d); err != nil {
		refuse(w, http.StatusBadRequest, &supervisor.Refusal{Msg: "the request cannot be read", Code: 1})
		return
	}
	if err := s.Sup.Answer(id, paceline.RequestID(r.PathValue("request")), d.Allow); err != nil {
		hint := "nothing is asked in it now"
		var open []string
		for _, q := range s.Sup.Asked(id) {
			open = append(open, string(q))
		}
		if len(open) > 0 {
			hint = "it asks: " + strings.Join(open, ", ")
		}
		refuse(w, http.StatusConflict, &supervisor.Refusal{Msg: err.Error(), Hint: hint, Code: 2})
		return
	}
	reply(w, struct{}{})
}

func (s *Server) trust(w http.ResponseWriter, r *http.Request) {
	var t trust
	if err := json.NewDecoder(r.Body).Decode(&t); err != nil {
		refuse(w, http.StatusBadRequest, &supervisor.Refusal{Msg: "the request cannot be read", Code: 1})
		return
	}
	if err := s.Sup.Vet(r.Context(), t.Dir, t.Tree, t.Digest); err != nil {
		fail(w, err)
		return
	}
	reply(w, struct{}{})
}

func (s *Server) clear(w http.ResponseWriter, r *http.Request) {
	var e paceline.Engine
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		refuse(w, http.StatusBadRequest, &supervisor.Refusal{Msg: "the request cannot be read", Code: 1})
		return
	}
	if err := s.Store.InTx(r.Context(), func(tx *store.Tx) error { return tx.LiftLimit(r.Context(), e) }); err != nil {
		fail(w, err)
		return
	}
	reply(w, struct{}{})
}

func (s *Server) heal(w http.ResponseWriter, r *http.Request) {
	var route health.Route
	if err := json.NewDecoder(r.Body).Decode(&route); err != nil {
		refuse(w, http.StatusBadRequest, &supervisor.Refusal{Msg: "the request cannot be read", Code: 1})
		return
	}
	if err := s.Store.InTx(r.Context(), func(tx *store.Tx) error { return tx.ResetHealth(r.Context(), route) }); err != nil {
		fail(w, err)
		return
	}
	reply(w, struct{}{})
}

func (s *Server) drain(w http.ResponseWriter, _ *http.Request) {
	s.Sup.Drain()
	reply(w, struct{}{})
}

func (s *Server) leave(w http.ResponseWriter, _ *http.Request) {
	reply(w, struct{}{})
	s.Leave()
}

// beat is how long a stream may be silent, so that a dead connection is found.
const beat = 15 * time.Second

// events streams a thread's events, one a line, until nothing in it is open.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	id, ok := s.thread(w, r)
	if !ok {
		return
	}
	from, err := supervisor.ParseOffset(r.URL.Query().Get("after"))
	if err != nil {
		refuse(w, http.StatusBadRequest, &supervisor.Refusal{Msg: err.Error(), Code: 2})
		return
	}
	terminal := r.URL.Query().Get("terminal") != ""
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(w)
	w.WriteHeader(http.StatusOK)
	_ = out.Flush()
	enc := json.NewEncoder(w)
	last := time.Now()
	quiet := func() bool {
		if time.Since(last) > beat {
			last = time.Now()
			_, _ = w.Write([]byte("\n"))
		}
		_ = out.Flush()
		busy, _ := s.Sup.Serving(id)
		return !busy
	}
	err = s.Sup.Listen(r.Context(), id, from, quiet, func(e supervisor.Event) bool {
		last = time.Now()
		return enc.Encode(e) == nil
	})
	if err != nil || r.Context().Err() != nil {
		s.left(id, terminal)
		return
	}
	// It is not served any more. Where something is open all the same, that is
	// for a reason.
	if open, err := s.open(context.WithoutCancel(r.Context()), id); open || err != nil {
		_, why := s.Sup.Serving(id)
		if err == nil && why == nil {
			panic(http.ErrAbortHandler) // drained: a cut stream sends its client to the next server
		}
		_ = enc.Encode(Line{Trouble: trouble(errors.Join(err, why))})
	}
	_ = out.Flush()
}

// left notes a terminal that went away while its thread goes on.
func (s *Server) left(id paceline.ThreadID, terminal bool) {
	if busy, _ := s.Sup.Serving(id); busy && terminal {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lost[id] = true
	}
}

// open reports whether a message of the thread is open, or its team goes on by
// itself.
func (s *Server) open(ctx context.Context, id paceline.ThreadID) (bool, error) {
	if t, err := s.Store.Team(ctx, id); err == nil && t.Open() {
		return true, nil
	}
	messages, err := s.Store.Messages(ctx, id)
	for _, m := range messages {
		if m.Status == run.Unsettled {
			return true, err
		}
	}
	return false, err
}

// trouble is why a thread is open and not served.
func trouble(err error) *supervisor.Refusal {
	var known *supervisor.Refusal
	var st *store.Trouble
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &st):
		return &supervisor.Refusal{Msg: st.Error(), Hint: st.Hint, Code: 1}
	case errors.Is(err, store.ErrElsewhere):
		return &supervisor.Refusal{Msg: err.Error(), Hint: "its working tree is there: go on with it on that host", Code: 2}
	case errors.Is(err, store.ErrNotFound):
		return &supervisor.Refusal{Msg: "there is no such thread", Hint: "`paceline threads` lists them", Code: 2}
	}
	return &supervisor.Refusal{Msg: err.Error(), Code: 1}
}

func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, store.ErrNotFound) {
		status = http.StatusNotFound
	}
	refuse(w, status, trouble(err))
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, why *supervisor.Refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(why)
}
