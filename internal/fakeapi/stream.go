package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// status answers at once, with a JSON body where there is one.
func (x *exchange) status(code int, body any) {
	if body != nil {
		x.w.Header().Set("Content-Type", "application/json")
	}
	x.s.answered(x.at, code)
	x.w.WriteHeader(code)
	if body != nil {
		_ = json.NewEncoder(x.w).Encode(body) // who hung up is not told
	}
}

// stream begins a stream of events. The head is sent off before the first
// event, as the real APIs do.
func (x *exchange) stream() {
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	x.w.Header().Set("Cache-Control", "no-cache")
	x.s.answered(x.at, http.StatusOK)
	x.w.WriteHeader(http.StatusOK)
	x.flush()
}

// event sends one event; its type goes both before the data and into it.
func (x *exchange) event(kind string, fields map[string]any) {
	data := map[string]any{"type": kind}
	for k, v := range fields {
		data[k] = v
	}
	b, err := json.Marshal(data)
	if err != nil {
		b = []byte(strconv.Quote(err.Error()))
	}
	x.raw(kind, string(b))
}

func (x *exchange) raw(kind, data string) {
	fmt.Fprintf(x.w, "event: %s\ndata: %s\n\n", kind, data)
	x.flush()
}

func (x *exchange) flush() { _ = http.NewResponseController(x.w).Flush() }

// pause waits between two events; where either side ends meanwhile, so does the
// answer.
func (x *exchange) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return
	case <-x.r.Context().Done():
	case <-x.s.ctx.Done():
	}
	x.drop()
}

// hang keeps the connection open and says nothing until either side ends.
func (x *exchange) hang() {
	select {
	case <-x.r.Context().Done():
	case <-x.s.ctx.Done():
	}
	x.drop()
}

// drop closes the connection without a word. The server's own way to do that
// is this panic, which it does not log.
func (x *exchange) drop() { panic(http.ErrAbortHandler) }

// retryAfter sets the header of that name, in whole seconds.
func (x *exchange) retryAfter(d time.Duration) {
	if d > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(int((d+time.Second-1)/time.Second)))
	}
}

// cut splits text into n pieces of about one length, at the bounds of runes.
func cut(text string, n int) []string {
	runes := []rune(text)
	if n = min(n, len(runes)); n <= 1 {
		return []string{text}
	}
	pieces := make([]string, n)
	for i := range n {
		pieces[i] = string(runes[i*len(runes)/n : (i+1)*len(runes)/n])
	}
	return pieces
}
