package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/paceline/paceline/internal/harness"
	"github.com/paceline/paceline/internal/store"
	"github.com/paceline/paceline/internal/supervisor"
	"github.com/paceline/paceline/internal/team"
)

// team finds the team that is meant: the one that was named, or the last one of
// this directory's tree.
func (o *teamOptions) find(ctx context.Context) (st *store.Store, th store.Thread, s team.State, err error) {
	if st, err = o.open(ctx); err != nil {
		return nil, th, s, err
	}
	if o.thread != "" {
		th, err = pickThread(ctx, st, o.thread, false, "")
	} else {
		var dir string
		if dir, err = workDir("", false); err == nil {
			th, err = st.LastTeamIn(ctx, harness.Tree(dir))
		}
	}
	if err == nil {
		s, err = st.Team(ctx, th.ID)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = usage("there is no team here yet", "`paceline team start TASK` begins one; -t names one of another directory")
	}
	if err != nil {
		st.Close()
	}
	return st, th, s, err
}

func newTeamShow(s *streams) *cobra.Command {
	o := &teamOptions{streams: s}
	c := &cobra.Command{
		Use: "show", Short: "Show what a team does, and what it waits for", Args: args(cobra.NoArgs, "-t names its thread"),
		RunE: func(c *cobra.Command, _ []string) error { return teamShow(c.Context(), o) },
	}
	o.named(c)
	return c
}

// teamView is what `team show --json` prints.
type teamView struct {
	team.State
	Exit int `json:"exit"` // what it would end with now; 0 while it goes on
}

func teamShow(ctx context.Context, o *teamOptions) error {
	st, th, s, err := o.find(ctx)
	if err != nil {
		return err
	}
	st.Close()
	if o.json {
		return json.NewEncoder(o.out).Encode(teamView{s, teamCode(s)})
	}
	now := time.Now()
	fmt.Fprintf(o.out, "%s  %s  %s\n", th.ID, s.Phase, printable(th.Title))
	if s.Why != "" {
		fmt.Fprintf(o.out, "  %s\n", printable(s.Why))
	}
	switch {
	case s.Round != nil:
		fmt.Fprintf(o.out, "  round %d is @%s's, since %s\n", s.Rounds, s.Round.Participant, when(s.Round.Began, now))
	case s.Gate != nil:
		fmt.Fprintf(o.out, "  @%s asks a person to approve: %s\n  `paceline team gate approve`, or reject\n", s.Gate.Holder, printable(s.Gate.What))
	case !s.Wait.Until.IsZero():
		fmt.Fprintf(o.out, "  waits until %s: %s\n", when(s.Wait.Until, now), printable(s.Wait.Why))
	}
	w := tabwriter.NewWriter(o.out, 0, 4, 2, ' ', 0)
	for _, m := range s.Members {
		note := fmt.Sprintf("%d rounds, %d posts", m.Rounds, m.Posts)
		switch {
		case m.Off:
			note = "switched off"
		case m.NotBefore.After(now):
			note += ", failed and is tried again " + when(m.NotBefore, now)
		case m.WaitUntil.After(now):
			note += ", asked to wait until " + when(m.WaitUntil, now)
		}
		fmt.Fprintf(w, "  @%s\t%s\t%s\t%s\n", m.ID, engineNames(m.Chain, " → "), m.In(th.Mode), note)
	}
	return w.Flush()
}

func newTeamLog(s *streams) *cobra.Command {
	o := &teamOptions{streams: s}
	c := &cobra.Command{
		Use: "log", Short: "Print what was said in a team, and what happened to it", Args: args(cobra.NoArgs, "-t names its thread"),
		RunE: func(c *cobra.Command, _ []string) error { return teamLog(c.Context(), o) },
	}
	o.named(c)
	return c
}

// logRow is a line of `team log --json`.
type logRow struct {
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	By   string    `json:"by"` // a participant, user, or paceline
	To   string    `json:"to,omitempty"`
	Move string    `json:"move,omitempty"`
	Text string    `json:"text"`
}

func teamLog(ctx context.Context, o *teamOptions) error {
	st, th, _, err := o.find(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	posts, err := st.Posts(ctx, th.ID, 0)
	if err != nil {
		return err
	}
	items, err := st.Items(ctx, th.ID, 0)
	if err != nil {
		return err
	}
	var rows []logRow
	for _, p := range posts {
		rows = append(rows, logRow{p.Seq, p.At.UTC(), p.By, p.To, p.Move, p.Text})
	}
	for _, it := range items {
		if it.Kind == "announcement" {
			rows = append(rows, logRow{Seq: it.Seq, At: it.At.UTC(), By: "paceline", Text: body(it)})
		}
	}
	slices.SortFunc(rows, func(a, b logRow) int { return int(a.Seq - b.Seq) })
	enc := json.NewEncoder(o.out)
	for _, r := range rows {
		text := strings.ReplaceAll(printable(r.Text), "\n", "\n    ")
		switch {
		case o.json:
			err = enc.Encode(r)
		case r.By == "paceline":
			_, err = fmt.Fprintf(o.out, "%s  %s\n", since(r.At), text)
		default:
			_, err = fmt.Fprintf(o.out, "%s  @%s%s: %s\n", since(r.At), r.By, moved(r), text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// moved says what a post moves, in the log.
func moved(r logRow) string {
	switch {
	case r.To != "":
		return " to @" + r.To
	case r.Move == "post" || r.Move == "work":
		return ""
	}
	return " (" + r.Move + ")"
}

func newTeamPost(s *streams) *cobra.Command {
	o := &teamOptions{streams: s}
	to := ""
	c := &cobra.Command{
		Use: "post TEXT|-", Short: "Say something to a team, or to one of it; it is told with the next round",
		Args: args(cobra.ExactArgs(1), "put the text in quotes"),
		RunE: func(c *cobra.Command, a []string) error {
			text, err := readPrompt(a[0], true, o.in)
			if err != nil {
				return err
			}
			return teamTell(c.Context(), o, supervisor.Word{What: "post", Text: text, To: strings.TrimPrefix(to, "@")})
		},
	}
	o.named(c)
	c.Flags().StringVar(&to, "to", "", "the `participant` that is addressed: the next round is theirs")
	return c
}

func newTeamGate(s *streams) *cobra.Command {
	c := &cobra.Command{Use: "gate", Short: "Approve or reject what a participant asks a person for"}
	for _, what := range []string{"approve", "reject"} {
		o := &teamOptions{streams: s}
		short := "Let it be done: its participant has the next round, on its own engine and no other"
		if what == "reject" {
			short = "Have it not be done; its participant has the next round, and is told why"
		}
		one := &cobra.Command{
			Use: what + " [TEXT]", Short: short, Args: args(cobra.MaximumNArgs(1), "put what is to be said about it in quotes"),
			RunE: func(c *cobra.Command, a []string) error {
				return teamTell(c.Context(), o, supervisor.Word{What: what, Text: strings.Join(a, "")})
			},
		}
		o.named(one)
		c.AddCommand(one)
	}
	return c
}

func newTeamWord(s *streams, what, short string) *cobra.Command {
	o := &teamOptions{streams: s}
	c := &cobra.Command{
		Use: what, Short: short, Args: args(cobra.NoArgs, "-t names its thread"),
		RunE: func(c *cobra.Command, _ []string) error {
			return teamTell(c.Context(), o, supervisor.Word{What: what})
		},
	}
	o.named(c)
	return c
}

// teamTell gives a person's word to a team. It is not said twice: a lost answer is
// told to the person instead.
func teamTell(ctx context.Context, o *teamOptions, w supervisor.Word) error {
	st, th, _, err := o.find(ctx)
	if err != nil {
		return err
	}
	st.Close()
	policy, err := o.policyIn(th.Dir)
	if err != nil {
		return err
	}
	l, err := o.connect(ctx, false, o.note)
	if err != nil {
		return err
	}
	now, err := l.conn.Tell(ctx, th.ID, w, o.client(policy, true))
	if err := errors.Join(err, l.close()); err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(o.out).Encode(teamView{now, teamCode(now)})
	}
	fmt.Fprintf(o.out, "%s is %s; `paceline attach %s` stays with it\n", th.ID, now.Phase, th.ID)
	return nil
}
