package acp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestPeer(t *testing.T) {
	asked := func(kinds ...string) Request {
		var options []string
		for _, k := range kinds {
			options = append(options, `{"kind":"`+k+`","optionId":"the-`+k+`","name":"n"}`)
		}
		r, ok := ParseRequest([]byte(`{"jsonrpc":"2.0","id":"a-1","method":"session/request_permission","params":{"options":[` + strings.Join(options, ",") + `]}}`))
		if !ok || !r.Permission() {
			t.Fatal("no request")
		}
		return r
	}
	for _, tt := range []struct {
		name string
		got  []byte
		want string
	}{
		{"F3 it is allowed once, rather than for ever", asked("allow_always", "allow_once", "reject_once").Decide(true), `"optionId":"the-allow_once"`},
		{"F3 for ever where there is no once", asked("allow_always", "reject_once").Decide(true), `"optionId":"the-allow_always"`},
		{"F3 it is declined", asked("allow_once", "reject_once").Decide(false), `"optionId":"the-reject_once"`},
		{"F3 what cannot be declined is cancelled", asked("allow_once").Decide(false), `"outcome":"cancelled"`},
		{"F3 its id comes back as it was", asked("allow_once").Decide(true), `"id":"a-1"`},
		{"P5 neither files nor terminals are offered", Initialize(0, "v"), `"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}`},
		{"P5 what was not offered is refused", Request{ID: "7", Method: "terminal/create"}.Refuse(), `"id":7,"error":{"code":-32601`},
		{"Z38 a conversation is resumed in silence", ResumeSession(1, "s", "/d", false), `"method":"session/resume"`},
		{"Z38 or with a replay", ResumeSession(1, "s", "/d", true), `"method":"session/load"`},
		{"the protocol wants a list of servers", NewSession(1, "/d"), `"mcpServers":[]`},
		{"F1 the prompt byte for byte", Prompt(2, "s", "a <b> & \"c\"\n"), `"text":"a \u003cb\u003e \u0026 \"c\"\n"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(string(tt.got), tt.want) || !strings.HasSuffix(string(tt.got), "\n") || strings.Count(string(tt.got), "\n") != 1 {
				t.Errorf("%s\ndoes not hold %s", tt.got, tt.want)
			}
		})
	}
	if _, ok := ParseRequest([]byte(`{"id":1,"result":{}}`)); ok {
		t.Error("an answer was taken for a request")
	}
	if a, ok := ParseAnswer([]byte(`{"id":1,"error":{"code":-32000}}`)); !ok || a.Error == nil {
		t.Error("a refusal was not read")
	}
}

func FuzzPeer(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"result":{}}`, `{"id":1,"error":{"code":-32000}}`, `{"id":"a","method":"session/request_permission","params":{"options":[{"kind":"allow_once","optionId":"x"}]}}`,
		`{"id":null,"method":"x"}`, `{"id":{"a":[1]},"method":"fs/read_text_file"}`, "{", "[]", "\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, asked := ParseRequest(line)
		_, answered := ParseAnswer(line)
		if asked && answered {
			t.Fatalf("a request and an answer at once: %q", line)
		}
		if !asked {
			return
		}
		for _, reply := range [][]byte{r.Refuse(), r.Decide(true), r.Decide(false)} {
			if !json.Valid(reply) || bytes.Count(reply, []byte("\n")) != 1 {
				t.Fatalf("to %q it answers %q", line, reply)
			}
		}
	})
}
