package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline/internal/replay"
)

type replayOptions struct {
	*streams
	harness string
	paths   []string
	table   bool
	report  bool
}

func newReplay(s *streams) *cobra.Command {
	o := &replayOptions{streams: s}
	c := &cobra.Command{
		Use: "replay --harness H FILE|DIR …", Short: "Show how a recorded native stream is read, one line a turn",
		Args: args(cobra.MinimumNArgs(1), "name a recording, or a folder of them"),
		RunE: func(_ *cobra.Command, a []string) error {
			o.paths = a
			return replayRun(o)
		},
	}
	c.Flags().StringVar(&o.harness, "harness", "", "whose stream it is: "+strings.Join(replay.Harnesses(), ", "))
	c.Flags().BoolVar(&o.table, "table", false, "print a table instead of JSON")
	c.Flags().BoolVar(&o.report, "report", false, "print a bug report instead: how the recording was read, and its lines without prompts, tokens, e-mails and paths")
	c.Flags().Bool("json", true, "print JSON, one turn a line (the default)")
	return c
}

func replayRun(o *replayOptions) error {
	if !slices.Contains(replay.Harnesses(), o.harness) {
		return usage(fmt.Sprintf("--harness %q is not one that this build reads", o.harness), "it reads "+strings.Join(replay.Harnesses(), ", "))
	}
	files, err := replay.Files(o.paths)
	if err != nil {
		return usage(err.Error(), "name a recording, or a folder of them")
	}
	if len(files) == 0 {
		return usage("there is no recording in "+strings.Join(o.paths, ", "), "recordings are named stdout, stdout*.jsonl, transcript*.jsonl or rpc.jsonl")
	}
	if o.report {
		if len(files) > 1 {
			return usage(fmt.Sprintf("--report takes one recording, and there are %d", len(files)), "name one of them")
		}
		return replay.Report(o.out, o.harness, files[0], ourVersion())
	}
	enc := json.NewEncoder(o.out)
	w := tabwriter.NewWriter(o.out, 0, 4, 2, ' ', 0)
	for _, f := range files {
		rows, err := replay.File(o.harness, f)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if !o.table {
				if err := enc.Encode(r); err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", r.File, r.Turn, r.Outcome, r.Cause, r.Code, r.Work, r.ResetAt, r.Scope)
		}
	}
	return w.Flush()
}
