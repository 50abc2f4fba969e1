package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline/internal/config"
	"github.com/paceline/paceline/internal/harness"
)

type configOptions struct {
	*streams
	json bool
}

func newConfig(s *streams) *cobra.Command {
	o := &configOptions{streams: s}
	c := &cobra.Command{
		Use: "config", Short: "Show or check the configuration, or print its schema",
		Args: args(cobra.NoArgs, "`paceline config show`, `check` or `schema`"),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	show := &cobra.Command{
		Use: "show", Short: "Print every value with the file that set it", Args: args(cobra.NoArgs, "it takes none"),
		RunE: func(*cobra.Command, []string) error { return configShow(o) },
	}
	check := &cobra.Command{
		Use: "check", Short: "Print what is wrong with the configuration", Args: args(cobra.NoArgs, "it takes none"),
		RunE: func(*cobra.Command, []string) error { return configCheck(o) },
	}
	c.AddCommand(&cobra.Command{
		Use: "schema", Short: "Print a JSON Schema of the configuration, for editors", Args: args(cobra.NoArgs, "it takes none"),
		RunE: func(*cobra.Command, []string) error { return configSchema(o) },
	})
	for _, sub := range []*cobra.Command{show, check} {
		sub.Flags().BoolVar(&o.json, "json", false, "print JSON")
		c.AddCommand(sub)
	}
	return c
}

func (o *configOptions) load() ([]config.Shown, error) {
	dir, err := absolute(".")
	if err != nil {
		dir = "/"
	}
	_, shown, err := config.Load(config.Find(o.environ, harness.Environment(o.environ).Get("HOME"), harness.Tree(dir)))
	return shown, err
}

func configShow(o *configOptions) error {
	shown, err := o.load()
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(o.out).Encode(shown)
	}
	w := tabwriter.NewWriter(o.out, 0, 4, 2, ' ', 0)
	for _, v := range shown {
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, printable(v.Value), v.From)
	}
	return w.Flush()
}

func configCheck(o *configOptions) error {
	if _, err := o.load(); err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(o.out).Encode([]string{})
	}
	_, err := fmt.Fprintln(o.out, "The configuration is in order.")
	return err
}

func configSchema(o *configOptions) error {
	e := json.NewEncoder(o.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(config.NewSchema())
}

// policy is what holds in this directory.
func (s *streams) policy() (config.Policy, error) {
	dir, err := absolute(".")
	if err != nil {
		dir = "/"
	}
	p, _, err := config.Load(config.Find(s.environ, harness.Environment(s.environ).Get("HOME"), harness.Tree(dir)))
	return p, err
}

// unmade reports whether there is no store yet.
func unmade(err error) bool {
	var none *UserError
	return errors.As(err, &none)
}
