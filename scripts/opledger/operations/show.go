package operations

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/submission"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// showSettings are the settings of the functions that show needs.
type showSettings struct {
	Attempts config.Attempts
	config.Pause
}

// NewShow makes opledger show.
func NewShow(outside terminal.Environment) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one operation: its record, every delivery with its decision, every effect",
		Long: "Shows an operation's record, the timeline of what happened with each attempt and how long it took,\n" +
			"every delivery with its decision, and every effect: its attempts, how long it has been failing, when\n" +
			"the next attempt is and when it is given up: by the settings that the ledger has stored, unless\n" +
			"$OPLEDGER_MAX_ATTEMPTS and $OPLEDGER_RETRY_FOR are set. For a dead effect it says why, and what to do.\n" +
			"Effects count as paused where the last pass saw a pause, and where $OPLEDGER_EFFECTS_PAUSED is true.\n" +
			"Of a job it shows how far it is, what it waits for, and its parts, each the requests of one batch: the\n" +
			"first 100, or where there are more the open ones. A part's key, such as jobs/ID/00012, shows that one.",
		Example: "  opledger show batches/abc123\n" +
			"  opledger show jobs/nightly-2026-11-23 --watch\n" +
			"  opledger show https://generativelanguage.googleapis.com/v1beta/batches/abc123 --json",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: open.Named(func(cmd *cobra.Command, name open.OperationName) error {
			settings, l, err := open.Read[showSettings](cmd.Context(), outside)
			if err != nil {
				return err
			}
			view := phrase.EffectView{
				Max: settings.Attempts.MaxAttempts, RetryFor: settings.Attempts.RetryFor,
				Paused: settings.Paused, Store: l.Where.Named(),
			}
			err = terminal.Repeated(cmd.Context(), outside, watch, func(w io.Writer) error {
				return open.WithIntentRemedy(show(cmd.Context(), w, l.Ledger, name, view, outside.JSON), name, outside)
			})
			return errors.Join(open.WithRemedy(err, outside), l.Store.Close())
		}),
	}
	open.LedgerFlags(cmd, &outside)
	terminal.WatchFlag(cmd, &watch)
	return cmd
}

func show(
	ctx context.Context, w io.Writer, l *ledger.Ledger, name open.OperationName, v phrase.EffectView, asJSON bool,
) error {
	if name.IsPart() {
		return showPart(ctx, w, l, name.Key, v, asJSON)
	}
	key, err := name.KeyIn(ctx, l)
	if err != nil {
		return err
	}
	story, err := l.Operations.Show(ctx, key)
	if err != nil {
		return err
	}
	if v.Failed, err = failedItems(ctx, l, story); err != nil {
		return err
	}
	of, err := viewJob(ctx, l, key, v.StoreFlag())
	if err != nil {
		return err
	}
	if asJSON {
		return terminal.PrintJSON(w, newStoryJSON(story, v, of))
	}
	last, now, err := l.Passes.Last(ctx)
	if err != nil && !errors.As(err, new(ledger.Broken)) { // status says that it is unreadable
		return err
	}
	v.Now, v.Paused = now, v.Paused || last.Effects == ledger.EffectsPaused
	intent, err := l.Intents.Of(ctx, story.Record)
	if err != nil {
		return err
	}
	return printStory(w, key, story, intent, v, of)
}

func printStory(
	w io.Writer, key operation.Key, s ledger.Story, intent ledger.Intent, v phrase.EffectView, of jobView,
) error {
	out := terminal.NewTable(w)
	if s.Record.Version > 0 {
		recordLines(out, s.Record)
	} else {
		out.Line(phrase.Safe(string(key)), "no record")
	}
	of.lines(out)
	out.Realign()
	timelineLines(out, v.Timeline(s, intent))
	of.table(out)
	out.Line("\nRECEIVED", "SOURCE", "TYPE", "STATE", "DECISION", "REASON", "DELIVERY")
	for _, d := range s.Deliveries {
		out.Line(d.ReceivedAt, d.Source, phrase.Safe(d.Type), d.State, d.Outcome, d.Reason, phrase.Safe(d.ID))
	}
	out.Realign()
	effectTable(out, s.Effects, v)
	for _, b := range s.Broken {
		out.Line("\n" + phrase.Safe(string(b.Path)) + " " + phrase.Broken(b))
	}
	for _, words := range v.Withheld(s.Record) {
		out.Line("\n" + words)
	}
	return out.End()
}

// timelineLines prints what happened, when, and how long after the first of it.
func timelineLines(out *terminal.Table, events []phrase.Event) {
	for i, e := range events {
		at, after := phrase.LocalTime(e.At), ""
		if i == 0 {
			at = "\n" + at
		} else {
			after = "+" + phrase.Took(e.At.Sub(events[0].At))
		}
		out.Line(at, after, e.Lane, e.Words)
	}
	out.Realign()
}

// effectTable prints effects.
func effectTable(out *terminal.Table, effects []ledger.Effect, v phrase.EffectView) {
	out.Line("\nEFFECT", "STATE", "PLANNED", "DONE", "ATTEMPTS", "NEXT ATTEMPT", "FENCE", "LAST ERROR")
	for _, e := range effects {
		out.Line(phrase.Safe(e.Name), phrase.EffectState(e), e.CreatedAt, e.DoneAt, e.Attempts, v.Next(e), e.Fence,
			phrase.LastError(e))
	}
	for _, e := range effects {
		effectLines(out, e, v)
	}
}

// effectLines prints what the table of effects has no room for.
func effectLines(out *terminal.Table, e ledger.Effect, v phrase.EffectView) {
	if words := v.Standing(e); words != "" {
		out.Line("\n" + words)
	}
	if e.Progress != nil {
		out.Line("\n" + phrase.Safe(e.Name) + " items: " + phrase.Items(*e.Progress))
		for _, words := range v.FailedItems(e) {
			out.Line("  " + words)
		}
	}
	for i, replay := range e.Replays {
		words := phrase.Safe(e.Name) + " replayed " + phrase.LocalTime(replay.At) + " by " + phrase.Safe(replay.By)
		if replay.LastError != "" {
			words += "; it was dead: " + phrase.Safe(replay.LastError)
		}
		if i == 0 {
			words = "\n" + words
		}
		out.Line(words)
	}
	if e.Abandoned != nil {
		out.Line("\n" + phrase.Safe(e.Name) + " waived " + phrase.Abandoned(e.Abandoned))
	}
}

// recordLines prints the record.
func recordLines(out *terminal.Table, r operation.Record) {
	out.Line(phrase.Safe(string(r.Key)), phrase.State(r))
	out.Line("  name", phrase.Safe(r.Name))
	submission.Lines(out, r.Submission)
	if r.IsPart() {
		out.Line("  batch of", partOf(r))
	}
	out.Line("  submitted", r.SubmittedAt)
	settled := phrase.LocalTime(r.SettledAt)
	if r.Settled() {
		settled += " by " + phrase.Safe(string(r.SettledBy))
	}
	out.Line("  settled", settled)
	out.Field("  conflict", phrase.Conflict(r))
	out.Field("  not registered", phrase.Unregistered(r))
	out.Line("  look-ups", r.LookUps)
	out.Line("  next look-up", r.DueAt)
	out.Field("  condition", phrase.Condition(r))
	if !r.StuckSince.IsZero() {
		out.Line("  pending for too long", "since "+phrase.LocalTime(r.StuckSince))
	}
	out.Field("  cancel requested", phrase.Abandoned(r.CancelRequested))
	out.Field("  abandoned", phrase.Abandoned(r.Abandoned))
	out.Line("  output", phrase.Safe(r.Result.OutputFile))
	out.Field("  error", strings.TrimSpace(r.Result.ErrorCode+" "+r.Result.ErrorMessage))
	out.Line("  kept until", r.ExpireAt)
}
