package tally

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The cases were put to ccusage 20.0.24 as files; what they want is what it
// said.

const plain = `{"type":"assistant","timestamp":"2026-01-01T10:00:00.000Z","sessionId":"s1","version":"2.1.0","message":{"id":"m1","model":"claude-opus-4-6","role":"assistant","usage":{"input_tokens":10,"output_tokens":20,"cache_creation_input_tokens":30,"cache_read_input_tokens":40}},"requestId":"r1"}`

// with is the plain row with replacements: old, new, …
func with(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(plain) }

func TestClaudeRow(t *testing.T) {
	all := Tokens{Input: 10, Output: 20, CacheWrite: 30, CacheRead: 40, Total: 100}
	for _, c := range []struct {
		name, row string
		counts    bool
	}{
		{"a plain row counts", plain, true},
		{"space around it does not matter", "  " + plain + " \r", true},
		{"space within it does not matter to who reads it", with(`"id":"m1"`, `"id" : "m1"`), true},
		{"a row that was cut does not count", plain[:len(plain)-1], false},
		{"a row with another behind it does not count", plain + plain, false},
		{"a row with anything behind it does not count", plain + "x", false},
		{"a row that is no object does not count", "[" + plain + "]", false},
		{"any type counts", with(`"type":"assistant"`, `"type":"user"`), true},
		{"a byte that is no text does not count", with(`"version"`, "\"x\":\"\xff\",\"version\""), false},
		{"a control character does not count", with(`"version"`, "\"x\":\"\x01\",\"version\""), false},
		{"an escape that is none does not count", with(`"version"`, `"x":"\q","version"`), false},
		{"half a pair of surrogates does not count", with(`"version"`, `"x":"\ud800","version"`), false},
		{"a whole pair counts", with(`"version"`, `"x":"\ud83d\ude00","version"`), true},
		{"a number that is none does not count", with(`"version"`, `"x":01,"version"`), false},
		{"two commas do not count", with(`"version"`, `"x":[1,,2],"version"`), false},
		{"what is nested too deep does not count", with(`"version"`, `"x":`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`,"version"`), false},
		{"what is nested less deep counts", with(`"version"`, `"x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+`,"version"`), true},
		{"an escaped name is its name", with("input_tokens\":10", `input_tok\u0065ns":10`), true},
		{"a usage told twice does not count", with(`"usage":{`, `"usage":{"input_tokens":1,"output_tokens":1},"usage":{`), false},
		{"a null where ccusage bears none does not count", with(`"version"`, `"x":{"id":null},"version"`), false},
		{"any other null counts", with(`"version"`, `"parentUuid":null,"version"`), true},
		{"an iteration without a model counts", with(`"usage":{`, `"usage":{"iterations":[{"model":null}],`), true},
		{"a null in a text is text", with(`"version"`, `"x":"\"id\":null","version"`), true},
		{"a time with microseconds does not count", with("10:00:00.000Z", "10:00:00.123456Z"), false},
		{"a time without a zone does not count", with("10:00:00.000Z", "10:00:00"), false},
		{"a time of whole seconds counts", with("10:00:00.000Z", "10:00:00Z"), true},
		{"a day that is none does not count", with("2026-01-01", "2026-02-30"), false},
		{"no time does not count", with(`"timestamp"`, `"when"`), false},
		{"a version that is none does not count", with("2.1.0", "two"), false},
		{"a version of a beta counts", with("2.1.0", "2.1.0-beta"), true},
		{"no version counts", with(`"version"`, `"v"`), true},
		{"an empty id does not count", with(`"m1"`, `""`), false},
		{"no id counts", with(`"id"`, `"i"`), true},
		{"no request counts", with(`"requestId"`, `"q"`), true},
		{"a number that is text does not count", with(`"input_tokens":10`, `"input_tokens":"10"`), false},
		{"a fraction does not count", with(`"input_tokens":10`, `"input_tokens":10.0`), false},
		{"a number below nothing does not count", with(`"input_tokens":10`, `"input_tokens":-1`), false},
		{"a number of no size does not count", with(`"input_tokens":10`, `"input_tokens":18446744073709551616`), false},
		{"no output does not count", with(`"output_tokens"`, `"o"`), false},
		{"a cost of the wrong kind does not count", with(`"requestId"`, `"costUSD":"x","requestId"`), false},
		{"a speed that is none does not count", with(`"usage":{`, `"usage":{"speed":"warp",`), false},
		{"a result that quotes a usage does not count", `{"type":"user","toolUseResult":{"usage":{"input_tokens":5,"output_tokens":6}},"timestamp":"2026-01-01T00:00:00.000Z"}`, false},
		{"what a subagent answered counts where it is told of", `{"type":"progress","sessionId":"s1","data":{"message":` + plain + `}}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ClaudeRow(nil, []byte(c.row), "", Names{})
			switch {
			case !c.counts && len(got) != 0:
				t.Errorf("it counts: %+v", got)
			case c.counts && (len(got) != 1 || got[0].Tokens != all):
				t.Errorf("it does not count whole: %+v", got)
			}
		})
	}
}

func TestClaudeModels(t *testing.T) {
	for _, c := range []struct {
		name, row string
		want      map[string]Tokens
	}{
		{
			"what was written for five minutes and for an hour stands for their sum", with(`"usage":{`, `"usage":{"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},`),
			map[string]Tokens{"claude-opus-4-6": {10, 20, 7, 40, 0, 77}},
		},
		{
			"fast answers are a model of their own", with(`"usage":{`, `"usage":{"speed":"fast",`),
			map[string]Tokens{"claude-opus-4-6-fast": {10, 20, 30, 40, 0, 100}},
		},
		{"a row of no model counts for the day", with("claude-opus-4-6", "<synthetic>"), map[string]Tokens{"<synthetic>": {10, 20, 30, 40, 0, 100}}},
		{
			"advisors are billed beside the answer", with(`"usage":{`, `"usage":{"iterations":[{"type":"message"},{"type":"advisor_message","model":"claude-opus-4-7","input_tokens":5,"output_tokens":6}],`),
			map[string]Tokens{"claude-opus-4-6": {10, 20, 30, 40, 0, 100}, "claude-opus-4-7": {5, 6, 0, 0, 0, 11}},
		},
		{
			"one advisor that is broken spoils them all", with(`"usage":{`, `"usage":{"iterations":[{"type":"advisor_message","model":"claude-opus-4-7","input_tokens":5,"output_tokens":6},3],`),
			map[string]Tokens{"claude-opus-4-6": {10, 20, 30, 40, 0, 100}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := map[string]Tokens{}
			for _, s := range ClaudeSums([][]Entry{ClaudeRow(nil, []byte(c.row), "", Names{})}, time.UTC) {
				got[s.Model] = s.Tokens
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// told is a row as the dedupe sees it.
type told struct {
	id, request, session, day string
	side                      bool
	in, out                   int
	speed                     string
}

func (r told) row() string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"timestamp":"2026-01-%sT10:00:00.000Z","sessionId":"%s","isSidechain":%t,`, r.day, r.session, r.side)
	if r.request != "" {
		fmt.Fprintf(&b, `"requestId":"%s",`, r.request)
	}
	b.WriteString(`"message":{"model":"claude-opus-4-6",`)
	if r.id != "" {
		fmt.Fprintf(&b, `"id":"%s",`, r.id)
	}
	b.WriteString(`"usage":{`)
	if r.speed != "" {
		fmt.Fprintf(&b, `"speed":"%s",`, r.speed)
	}
	fmt.Fprintf(&b, `"input_tokens":%d,"output_tokens":%d}}}`, r.in, r.out)
	return b.String()
}

func TestClaudeAnswersCountOnce(t *testing.T) {
	for _, c := range []struct {
		name  string
		files [][]told
		want  string // day: input/output
	}{
		{"the row that used most stands, whether it comes last", [][]told{{{"m", "r", "s", "01", false, 1, 1, ""}, {"m", "r", "s", "01", false, 1, 5, ""}}}, "01 1/5"},
		{"or first", [][]told{{{"m", "r", "s", "01", false, 1, 5, ""}, {"m", "r", "s", "01", false, 1, 1, ""}}}, "01 1/5"},
		{"of two alike the first stands, in the order of the paths", [][]told{{{"m", "r", "s", "02", false, 1, 5, ""}}, {{"m", "r", "s", "01", false, 1, 5, ""}}}, "02 1/5"},
		{"of two that used the same the dearer stands", [][]told{{{"m", "r", "s", "01", false, 5, 1, ""}, {"m", "r", "s", "02", false, 1, 5, ""}}}, "02 1/5"},
		{"one that says at which speed goes before one that does not", [][]told{{{"m", "r", "s", "01", false, 1, 1, ""}, {"m", "r", "s", "02", false, 1, 1, "standard"}}}, "02 1/1"},
		{"another request is another answer", [][]told{{{"m", "r", "s", "01", false, 1, 1, ""}, {"m", "q", "s", "01", false, 2, 2, ""}}}, "01 3/3"},
		{"one request in two conversations is one answer", [][]told{{{"m", "r", "s", "01", false, 1, 1, ""}}, {{"m", "r", "t", "01", false, 1, 1, ""}}}, "01 1/1"},
		{"without a request, the same moment in the same conversation is one answer", [][]told{{{"m", "", "s", "01", false, 1, 1, ""}}, {{"m", "", "s", "01", false, 1, 1, ""}}}, "01 1/1"},
		{"without a request, another moment is another answer", [][]told{{{"m", "", "s", "01", false, 1, 1, ""}, {"m", "", "s", "02", false, 1, 1, ""}}}, "01 1/1, 02 1/1"},
		{"without a request, another conversation is another answer", [][]told{{{"m", "", "s", "01", false, 1, 1, ""}, {"m", "", "t", "01", false, 1, 1, ""}}}, "01 2/2"},
		{"a row that names no message is like no other", [][]told{{{"", "r", "s", "01", false, 1, 1, ""}, {"", "r", "s", "01", false, 1, 1, ""}}}, "01 2/2"},
		{"a branch repeats its conversation under another request", [][]told{{{"m", "r", "s", "01", false, 1, 1, ""}, {"m", "q", "s", "02", true, 9, 9, ""}}}, "01 1/1"},
		{"the conversation stands, though the branch came first", [][]told{{{"m", "q", "s", "02", true, 9, 9, ""}, {"m", "r", "s", "01", false, 1, 1, ""}}}, "01 1/1"},
		{"a branch of another conversation repeats nothing", [][]told{{{"m", "r", "s", "01", false, 1, 1, ""}, {"m", "q", "t", "01", true, 9, 9, ""}}}, "01 10/10"},
		{"two branches repeat each other", [][]told{{{"m", "r", "s", "01", true, 1, 1, ""}, {"m", "q", "s", "01", true, 9, 9, ""}}}, "01 9/9"},
		{"a request that a better row replaced is free again", [][]told{{{"m", "", "s", "01", true, 4, 0, ""}, {"m", "q", "s", "02", false, 1, 0, ""}, {"m", "", "s", "01", false, 16, 0, ""}}}, "01 16/0, 02 1/0"},
		{"a conversation is known of a row that did not stand", [][]told{{{"m", "r", "s", "02", false, 4, 0, ""}, {"m", "r", "t", "01", true, 256, 0, ""}, {"m", "q", "t", "01", true, 1, 0, ""}}}, "02 4/0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var files [][]Entry
			for _, f := range c.files {
				var entries []Entry
				for _, r := range f {
					entries = ClaudeRow(entries, []byte(r.row()), "", Names{})
				}
				files = append(files, entries)
			}
			var got []string
			for _, s := range ClaudeSums(files, time.UTC) {
				got = append(got, fmt.Sprintf("%s %d/%d", s.Day[8:], s.Input, s.Output))
			}
			if all := strings.Join(got, ", "); all != c.want {
				t.Errorf("%s, want %s", all, c.want)
			}
		})
	}
}

func TestDays(t *testing.T) {
	zone := time.FixedZone("west", -5*3600)
	got := ClaudeSums([][]Entry{ClaudeRow(nil, []byte(with("10:00:00.000Z", "02:00:00.000Z")), "", Names{})}, zone)
	if len(got) != 1 || got[0].Day != "2025-12-31" {
		t.Errorf("a day is the zone's: %+v", got)
	}
}

func FuzzClaudeRow(f *testing.F) {
	f.Add([]byte(plain))
	f.Add([]byte(`{"data":{"message":` + plain + `}}`))
	f.Add([]byte(with(`"usage":{`, `"usage":{"iterations":[{"type":"advisor_message","model":"x","input_tokens":5,"output_tokens":6}],`)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, e := range ClaudeRow(nil, b, "s", Names{}) {
			if sum := e.Input + e.Output + e.CacheWrite + e.CacheRead; e.Total != sum {
				t.Errorf("total %d of %d", e.Total, sum)
			}
		}
	})
}
