package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set when a release is built.
var release = ""

// ourVersion is what this binary calls itself.
func ourVersion() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

type versionOptions struct {
	*streams
	json bool
}

func newVersion(s *streams) *cobra.Command {
	o := &versionOptions{streams: s}
	c := &cobra.Command{
		Use: "version", Short: "Print the version", Args: args(cobra.NoArgs, "`paceline version` takes none"),
		RunE: func(*cobra.Command, []string) error { return versionRun(o) },
	}
	c.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return c
}

func versionRun(o *versionOptions) error {
	if o.json {
		return json.NewEncoder(o.out).Encode(map[string]string{
			"version": ourVersion(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	_, err := fmt.Fprintf(o.out, "paceline %s (%s, %s/%s)\n", ourVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
