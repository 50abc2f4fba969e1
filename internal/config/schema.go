package config

import "strconv"

// Schema is one table or one key in JSON Schema's words (draft 2020-12), for
// editors that check a configuration while it is written. It says less than
// `config check`, which also knows what one key means for another.
type Schema struct {
	Dialect     string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Type        string             `json:"type"`
	Enum        []string           `json:"enum,omitempty"`
	Default     any                `json:"default,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	Maximum     int                `json:"maximum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	// Others is what a name that people choose stands for; false where there is none.
	Others any `json:"additionalProperties,omitempty"`
}

// NewSchema describes everything that a file may set, from the table of keys.
func NewSchema() *Schema {
	root := group()
	root.Dialect = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "Paceline's configuration"
	root.Description = "The user's config.toml, and a repository's, which may only narrow."
	for i := range keys {
		at, parts := root, keys[i].path()
		for _, part := range parts[:len(parts)-1] {
			at = at.below(part)
		}
		at.Properties[parts[len(parts)-1]] = keys[i].schema()
	}
	return root
}

func group() *Schema {
	return &Schema{Type: "object", Properties: map[string]*Schema{}, Others: false}
}

// below is the table of one name in s, made where it is not there yet.
func (s *Schema) below(name string) *Schema {
	if name == anyName {
		if _, ok := s.Others.(*Schema); !ok {
			s.Others = group()
		}
		return s.Others.(*Schema)
	}
	if s.Properties[name] == nil {
		s.Properties[name] = group()
	}
	return s.Properties[name]
}

// inRepository says what a repository's file may do with a key.
var inRepository = map[rule]string{operator: "Not in a repository's file.", narrow: "A repository's file may only narrow it."}

func (k *key) schema() *Schema {
	s := &Schema{Description: k.about + " " + inRepository[k.rule], Pattern: k.pattern}
	said, stands := k.standing()
	var err error
	switch k.kind {
	case text:
		s.Type, s.Enum = "string", k.words
		if stands {
			s.Default = said
		}
	case truth:
		s.Type = "boolean"
		if stands {
			s.Default, err = strconv.ParseBool(said)
		}
	case number:
		s.Type, s.Minimum, s.Maximum = "integer", &k.least, k.most
		if stands {
			s.Default, err = strconv.Atoi(said)
		}
	case list:
		s.Type, s.Items = "array", &Schema{Type: "string"}
	}
	must(err)
	return s
}

// standing is what holds for a key where nobody says anything.
func (k *key) standing() (string, bool) {
	if k.stands != "" {
		return k.stands, true
	}
	said, ok := standing[k.name]
	return said, ok
}
