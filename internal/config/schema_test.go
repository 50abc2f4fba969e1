package config

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled is the schema as a validator of others reads it.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(NewSchema())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("paceline.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("paceline.json") // checks it against the dialect's own schema, too
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON reads TOML as a validator of JSON takes it.
func asJSON(t *testing.T, text string) any {
	t.Helper()
	var v map[string]any
	if err := toml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestSchemaHoldsEveryKey(t *testing.T) {
	for i := range keys {
		k := &keys[i]
		s := NewSchema()
		for _, part := range k.path() {
			next := s.Properties[part]
			if part == anyName {
				next, _ = s.Others.(*Schema)
			}
			if next == nil {
				t.Fatalf("%s is not in the schema", k.name)
			}
			s = next
		}
		if said, stands := k.standing(); stands != (s.Default != nil) {
			t.Errorf("%s: default %v, stands %q", k.name, s.Default, said)
		}
		if !slices.Equal(s.Enum, k.words) {
			t.Errorf("%s: enum %q, words %q", k.name, s.Enum, k.words)
		}
		if k.about == "" || !strings.HasSuffix(k.about, ".") {
			t.Errorf("%s: %q is no sentence about it", k.name, k.about)
		}
	}
	compiled(t)
}

// TestSchemaTakesWhatIsDocumented holds the README's configuration to the schema
// and to what reads it.
func TestSchemaTakesWhatIsDocumented(t *testing.T) {
	s := compiled(t)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) < 2 {
		t.Fatalf("%d examples in the README", len(blocks))
	}
	// What `init` writes.
	texts := []string{"[chain]\ndefault = [\"claude\", \"codex\"]\n"}
	for _, b := range blocks {
		texts = append(texts, b[1])
	}
	for _, text := range texts {
		if err := s.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
		if l := file(newDocument("user.toml", LayerUser, []byte(text)), "/home/ada"); len(l.problems) > 0 {
			t.Errorf("%v in\n%s", l.problems, text)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	s := compiled(t)
	for name, text := range map[string]string{
		"a misspelt key":           "modus = \"edit\"",
		"one in a table":           "[fallback]\nenable = true",
		"one of an account":        "[accounts.office]\nhomes = \"/x\"",
		"another form":             "[fallback]\nenabled = \"yes\"",
		"a word that is none":      "mode = \"wild\"",
		"a negative number":        "[fallback]\nmax_hops = -1",
		"a list of something else": "[chain]\ndefault = [1]",
		"a number too large":       "[fallback.health]\nopen_after_failures = 21",
		"a number too small":       "[fallback.health]\ndegrade_ttft_ms = 999",
		"a time without its unit":  "[stall.codex]\ntool = \"90\"",
		"a harness that is none":   "[stall.cursor]\ntool = \"90s\"",
	} {
		if s.Validate(asJSON(t, text)) == nil {
			t.Errorf("%s passes:\n%s", name, text)
		}
		if l := file(newDocument("user.toml", LayerUser, []byte(text)), "/home/ada"); len(l.problems) == 0 {
			t.Errorf("%s passes `config check`:\n%s", name, text)
		}
	}
}
