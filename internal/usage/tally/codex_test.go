package tally

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/paceline/paceline/internal/quota"
)

// The cases were put to ccusage 20.0.24 as files; what they want is what it
// said. Costs are powers of two, so that a sum tells which of them counted.

// spend is a row that tells a cost: last and total, -1 where it does not tell
// it, after so many milliseconds.
func spend(ms, last, total int) string {
	var info []string
	tell := func(name string, n int) {
		if n >= 0 {
			info = append(info, fmt.Sprintf(`"%s":{"input_tokens":%d,"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":%d}`, name, n, n))
		}
	}
	tell("total_token_usage", total)
	tell("last_token_usage", last)
	return fmt.Sprintf(`{"timestamp":"%s","type":"event_msg","payload":{"type":"token_count","info":{%s}}}`, moments(ms), strings.Join(info, ","))
}

func moments(ms int) string {
	return time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
}

func meta(ms int, id, more string) string {
	return fmt.Sprintf(`{"timestamp":"%s","type":"session_meta","payload":{"id":"%s"%s}}`, moments(ms), id, more)
}

func model(name string) string {
	return fmt.Sprintf(`{"timestamp":"%s","type":"turn_context","payload":{"model":"%s"}}`, moments(0), name)
}

func rollout(rows ...string) *Rollout {
	r := &Rollout{}
	r.Begin([]byte(strings.Join(rows, "\n")))
	for _, row := range rows {
		if i := strings.Index(row, string(CodexMark)); i >= 0 && CodexMarked([]byte(row[i:])) || strings.Contains(row, `"type":"turn_context"`) {
			r.Row([]byte(row), Names{})
		}
	}
	return r
}

func TestCodexSums(t *testing.T) {
	parent := []string{meta(-90_000, "A", ""), model("m"), spend(-80_000, 1, 1), spend(-70_000, 2, 3), spend(-60_000, 4, 7)}
	fork := meta(0, "B", `,"forked_from_id":"A"`)
	for _, c := range []struct {
		name  string
		files [][]string
		want  uint64
	}{
		{"totals alone count by what they grew", [][]string{{model("m"), spend(1, -1, 1), spend(9, -1, 5)}}, 5},
		{"the last answer's cost goes before the growth of the whole", [][]string{{model("m"), spend(1, 1, 1), spend(9, 8, 3)}}, 9},
		{"a whole that has not moved costs nothing", [][]string{{model("m"), spend(1, 1, 1), spend(5, 1, 1), spend(9, 2, 3)}}, 3},
		{"a whole that fell back costs nothing by itself", [][]string{{model("m"), spend(1, -1, 2), spend(5, -1, 1), spend(9, -1, 4)}}, 5},
		{"a whole that fell back with an answer costs it", [][]string{{model("m"), spend(1, 4, 4), spend(5, 1, 1)}}, 5},
		{"rows alike in two files count once", [][]string{{model("m"), spend(1, 1, 1)}, {model("m"), spend(1, 1, 1)}}, 1},
		{"another time is another answer", [][]string{{model("m"), spend(1, 1, 1)}, {model("m"), spend(2, 1, 1)}}, 2},
		{"a fork's copy of its parent does not count", [][]string{parent, {fork, model("m"), spend(2000, 1, 1), spend(4000, 2, 3), spend(6000, 4, 7), spend(8000, 8, 15)}}, 15},
		{"a subagent's does not", [][]string{parent, {meta(0, "B", `,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"A"}}}`), spend(2000, 1, 1), spend(4000, 8, 15)}}, 15},
		{"a fork that copied nothing counts whole", [][]string{parent, {fork, model("m"), spend(2000, 8, 8), spend(4000, 16, 24)}}, 31},
		{"what the parent did after the fork was not copied", [][]string{{meta(-90_000, "A", ""), spend(-80_000, 1, 1), spend(1000, 2, 3)}, {fork, spend(2000, 1, 1), spend(4000, 2, 3)}}, 5},
		{"what comes in one burst was copied, where no parent is there", [][]string{{fork, spend(1000, 1, 1), spend(2000, 2, 3), spend(9000, 4, 7)}}, 4},
		{"rows a second and more apart are no burst", [][]string{{fork, spend(1000, 1, 1), spend(2001, 2, 3), spend(9000, 4, 7)}}, 7},
		{"a burst is told by rows that cost nothing too, and goes on by those that do", [][]string{{fork, spend(1000, 1, 1), spend(1800, 1, 1), spend(2600, 2, 3), spend(9000, 4, 7)}}, 6},
		{"behind copied rows nothing is a burst", [][]string{parent, {fork, spend(1000, 1, 1), spend(1001, 16, 17), spend(1002, 32, 49)}}, 55},
		{"a burst without a fork is work", [][]string{{meta(0, "B", ""), spend(1000, 1, 1), spend(1001, 2, 3)}}, 3},
		{"a fork's fork copied what its parent had copied", [][]string{
			parent,
			{fork, spend(2000, 1, 1), spend(4000, 2, 3), spend(6000, 4, 7), spend(8000, 8, 15)},
			{meta(20_000, "C", `,"forked_from_id":"B"`), spend(22_000, 1, 1), spend(24_000, 2, 3), spend(26_000, 4, 7), spend(28_000, 8, 15), spend(30_000, 16, 31)},
		}, 31},
		{"only the first row says whose conversation it is", [][]string{parent, {model("m"), fork, spend(2000, 1, 1), spend(4000, 2, 3)}}, 10},
		{"a fork of itself is none that can be told", [][]string{{meta(0, "B", `,"forked_from_id":"B"`), spend(2000, 1, 1), spend(4000, 2, 3)}}, 3},
		{"a row that was cut does not count", [][]string{{model("m"), spend(1, 1, 1)[:120], spend(9, 2, 3)}}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var files []*Rollout
			for _, f := range c.files {
				files = append(files, rollout(f...))
			}
			var got uint64
			for _, s := range CodexSums(files, time.UTC) {
				got += s.Total
			}
			if got != c.want {
				t.Errorf("%b counted, want %b", got, c.want)
			}
		})
	}
}

func TestCodexRow(t *testing.T) {
	usage := func(text string) string {
		return fmt.Sprintf(`{"timestamp":"%s","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":%s}}}`, moments(0), text)
	}
	for _, c := range []struct {
		name string
		rows []string
		want map[string]Tokens
	}{
		{"input is what no cache gave", []string{model("m"), usage(`{"input_tokens":100,"cached_input_tokens":10,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":120}`)}, map[string]Tokens{"m": {90, 20, 0, 10, 5, 120}}},
		{"nor what was written to one", []string{model("m"), usage(`{"input_tokens":100,"cached_input_tokens":10,"cache_write_input_tokens":3,"output_tokens":20}`)}, map[string]Tokens{"m": {87, 20, 3, 10, 0, 120}}},
		{"a cache gave no more than there was", []string{model("m"), usage(`{"input_tokens":100,"cached_input_tokens":200,"output_tokens":20}`)}, map[string]Tokens{"m": {0, 20, 0, 100, 0, 120}}},
		{"a total that is told stands", []string{model("m"), usage(`{"input_tokens":100,"output_tokens":20,"total_tokens":999}`)}, map[string]Tokens{"m": {100, 20, 0, 0, 0, 999}}},
		{"a number that is none is nothing", []string{model("m"), usage(`{"input_tokens":-5,"output_tokens":2}`)}, map[string]Tokens{"m": {0, 2, 0, 0, 0, 2}}},
		{"a number may be text", []string{model("m"), usage(`{"input_tokens":"5","output_tokens":2}`)}, map[string]Tokens{"m": {5, 2, 0, 0, 0, 7}}},
		{"what cost nothing is none", []string{model("m"), usage(`{"total_tokens":50}`)}, map[string]Tokens{}},
		{"a model that is not told is gpt-5", []string{usage(`{"input_tokens":1}`)}, map[string]Tokens{"gpt-5": {1, 0, 0, 0, 0, 1}}},
		{"a reviewer is who stood behind the name", []string{model("codex-auto-review"), usage(`{"input_tokens":1}`)}, map[string]Tokens{"gpt-5.2-codex": {1, 0, 0, 0, 0, 1}}},
		{"a row may name its model", []string{model("m"), strings.Replace(usage(`{"input_tokens":1}`), `"info"`, `"model":"x","info"`, 1)}, map[string]Tokens{"x": {1, 0, 0, 0, 0, 1}}},
		{"what is not looked at may be any bytes", []string{model("m"), strings.Replace(usage(`{"input_tokens":1}`), `"info"`, "\"x\":\"\xff\",\"info\"", 1)}, map[string]Tokens{"m": {1, 0, 0, 0, 0, 1}}},
		{"a part told twice spoils the row", []string{model("m"), strings.Replace(usage(`{"input_tokens":1}`), `"info"`, `"info":{},"info"`, 1)}, map[string]Tokens{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := map[string]Tokens{}
			for _, s := range CodexSums([]*Rollout{rollout(c.rows...)}, time.UTC) {
				got[s.Model] = s.Tokens
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCodexLimits(t *testing.T) {
	limits := func(ms int, text string) string {
		return fmt.Sprintf(`{"timestamp":"%s","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":%s}}`, moments(ms), text)
	}
	at := func(ms int) time.Time {
		return time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
	}
	five := quota.Window{Limit: "codex", Name: "primary", Length: 5 * time.Hour}
	for _, c := range []struct {
		name string
		rows []string
		want []quota.Reading
	}{
		{
			"Z11 a row without a cost tells the windows too",
			[]string{limits(1000, `{"limit_id":"codex","primary":{"used_percent":42.5,"window_minutes":300,"resets_at":1796104205},"secondary":null}`)},
			[]quota.Reading{{Window: five, Used: 42.5, Resets: time.Unix(1796104205, 0).UTC(), Observed: at(1000), Source: quota.SourceRollout}},
		},
		{
			"Z86 the newest row stands, wherever it stands in the file",
			[]string{
				limits(9000, `{"limit_id":"codex","primary":{"used_percent":50,"window_minutes":300}}`), limits(1000, `{"limit_id":"codex","primary":{"used_percent":40,"window_minutes":300}}`),
			},
			[]quota.Reading{{Window: five, Used: 50, Observed: at(9000), Source: quota.SourceRollout}},
		},
		{
			"Z11 a reached limit is told by name or by its use",
			[]string{limits(0, `{"limit_id":"codex","primary":{"used_percent":100,"window_minutes":300},"rate_limit_reached_type":"rate_limit_reached"}`)},
			[]quota.Reading{{Window: five, Used: 100, Reached: true, Observed: at(0), Source: quota.SourceRollout}},
		},
		{
			"Z11 the other window of a reached limit still has what it has",
			[]string{limits(0, `{"limit_id":"codex","primary":{"used_percent":100,"window_minutes":300},"secondary":{"used_percent":20,"window_minutes":10080},"rate_limit_reached_type":"rate_limit_reached"}`)},
			[]quota.Reading{
				{Window: five, Used: 100, Reached: true, Observed: at(0), Source: quota.SourceRollout},
				{Window: quota.Window{Limit: "codex", Name: "secondary", Length: 7 * 24 * time.Hour}, Used: 20, Observed: at(0), Source: quota.SourceRollout},
			},
		},
		{
			"an older form tells in how many seconds",
			[]string{limits(0, `{"primary":{"used_percent":1,"window_minutes":300,"resets_in_seconds":60}}`)},
			[]quota.Reading{{Window: quota.Window{Name: "primary", Length: 5 * time.Hour}, Used: 1, Resets: at(60_000), Observed: at(0), Source: quota.SourceRollout}},
		},
		{"windows that are not told are none", []string{limits(0, `{"limit_id":"codex","primary":null,"secondary":null}`), limits(0, `null`), limits(0, `{"primary":{"used_percent":"x"}}`)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, CodexLimits([]*Rollout{rollout(c.rows...)})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzCodexRow(f *testing.F) {
	f.Add([]byte(spend(0, 1, 1)))
	f.Add([]byte(model("m")))
	f.Add([]byte(meta(0, "A", `,"forked_from_id":"B"`)))
	f.Add([]byte(`{"timestamp":"2026-01-02T10:00:00Z","type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":{"used_percent":1e400,"window_minutes":9e99,"resets_at":-1}}}}`))
	f.Fuzz(func(_ *testing.T, b []byte) {
		r := &Rollout{}
		r.Begin(b)
		r.Row(b, Names{})
		var e Encoder
		e.Rollout(r)
		d := Decoder{B: e.B}
		if d.Rollout(); d.Bad {
			panic("what was written cannot be read")
		}
	})
}

// Whatever the standard library calls valid is passed over whole, and nothing
// else is.
func FuzzCursor(f *testing.F) {
	for _, s := range []string{plain, `[1,-2.5e3,true,null,{"a":[]},""]`, `"\u00e9\ud83d\ude00"`, `{"a":1,}`, `[`, `01`, `-`, "\"\x01\"", `{"a" 1}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := cursor{b: b}
		c.skip()
		if got, want := c.end(), json.Valid(b); got != want {
			t.Errorf("sound: %t, want %t", got, want)
		}
	})
}
