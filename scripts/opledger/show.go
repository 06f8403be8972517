package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// showSettings are the settings of the functions that show needs.
type showSettings struct {
	Attempts config.Attempts
	Effects  struct {
		Paused bool `env:"OPLEDGER_EFFECTS_PAUSED" envDefault:"false"`
	}
}

func newShow(outside environment) *cobra.Command {
	var store string
	var asJSON, intent bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show one operation: its record, every delivery with its decision, every effect",
		Long: "Shows an operation's record, every delivery with its decision, and every effect: its attempts, how\n" +
			"long it has been failing, when the next attempt is and when it is given up. For a dead effect it says\n" +
			"why, and what to do. Set $OPLEDGER_MAX_ATTEMPTS, $OPLEDGER_RETRY_FOR and $OPLEDGER_EFFECTS_PAUSED to\n" +
			"the values of the functions. With --intent, NAME is a correlation id.",
		Example: "  opledger show batches/abc123\n" +
			"  opledger show https://generativelanguage.googleapis.com/v1beta/batches/abc123 --json\n" +
			"  opledger show --intent nightly-2026-11-21",
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := config.Parse[showSettings](outside.variables)
			if err != nil {
				return usageError{err}
			}
			name, err := parseOperationName(args[0])
			if err != nil && !intent {
				return err
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			if intent {
				err = showIntent(cmd.Context(), outside.out, l, args[0], asJSON)
			} else {
				err = show(cmd.Context(), outside.out, l, name, effectView{
					max: settings.Attempts.Max, retryFor: settings.Attempts.RetryFor, paused: settings.Effects.Paused, store: store,
				}, asJSON)
				err = withIntentRemedy(err, name)
			}
			return errors.Join(withRemedy(err), closeStore())
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().BoolVar(&intent, "intent", false, "NAME is a correlation id: show its intent")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func show(ctx context.Context, w io.Writer, l *ledger.Ledger, name operationName, v effectView, asJSON bool) error {
	key, err := name.key(ctx, l)
	if err != nil {
		return err
	}
	story, err := l.Show(ctx, key)
	if err != nil {
		return err
	}
	if v.failed, err = failedItems(ctx, l, story); err != nil {
		return err
	}
	if asJSON {
		return printJSON(w, v.json(story))
	}
	if v.now, err = l.Now(ctx); err != nil {
		return err
	}
	return printStory(w, key, story, v)
}

func printStory(w io.Writer, key operation.Key, s ledger.Story, v effectView) error {
	out := newTable(w)
	if s.Record.Version > 0 {
		recordLines(out, s.Record)
	} else {
		out.line(safe(string(key)), "no record")
	}
	out.realign()

	out.line("\nRECEIVED", "SOURCE", "TYPE", "STATE", "DECISION", "REASON", "DELIVERY")
	for _, d := range s.Deliveries {
		out.line(d.ReceivedAt, d.Source, safe(d.Type), d.State, d.Outcome, d.Reason, safe(d.ID))
	}
	out.realign()
	out.line("\nEFFECT", "STATE", "PLANNED", "DONE", "ATTEMPTS", "NEXT ATTEMPT", "FENCE", "LAST ERROR")
	for _, e := range s.Effects {
		out.line(safe(e.Name), effectState(e), e.CreatedAt, e.DoneAt, e.Attempts, v.next(e), e.Fence, lastError(e))
	}
	for _, e := range s.Effects {
		v.effectLines(out, e)
	}
	for _, b := range s.Broken {
		out.line("\n" + safe(string(b.Path)) + " " + brokenWords(b))
	}
	for _, words := range v.withheld(s.Record) {
		out.line("\n" + words)
	}
	return out.end()
}

// effectLines prints what the table of effects has no room for.
func (v effectView) effectLines(out *table, e ledger.Effect) {
	if words := v.standing(e); words != "" {
		out.line("\n" + words)
	}
	if e.Progress != nil {
		out.line("\n" + safe(e.Name) + " items: " + progressWords(*e.Progress))
		for _, words := range v.failedWords(e) {
			out.line("  " + words)
		}
	}
	for i, replay := range e.Replays {
		words := safe(e.Name) + " replayed " + localTime(replay.At) + " by " + safe(replay.By)
		if replay.LastError != "" {
			words += "; it was dead: " + safe(replay.LastError)
		}
		if i == 0 {
			words = "\n" + words
		}
		out.line(words)
	}
	if e.Abandoned != nil {
		out.line("\n" + safe(e.Name) + " waived " + abandonedWords(*e.Abandoned))
	}
}

// recordLines prints the record.
func recordLines(out *table, r operation.Record) {
	out.line(safe(string(r.Key)), stateWord(r))
	out.line("  name", safe(r.Name))
	out.line("  job kind", safe(r.JobKind))
	out.line("  submitted", r.SubmittedAt)
	settled := localTime(r.SettledAt)
	if r.Settled() {
		settled += " by " + safe(string(r.SettledBy))
	}
	out.line("  settled", settled)
	out.line("  look-ups", r.Attempts)
	out.line("  next look-up", r.DueAt)
	if r.HasCondition() {
		out.line("  condition", conditionWords(r))
	}
	if !r.StuckSince.IsZero() {
		out.line("  pending for too long", "since "+localTime(r.StuckSince))
	}
	if r.Abandoned != nil {
		out.line("  abandoned", abandonedWords(*r.Abandoned))
	}
	out.line("  correlation id", safe(r.CorrelationID))
	out.line("  output", safe(r.Result.OutputFile))
	if r.Result.ErrorCode != "" || r.Result.ErrorMessage != "" {
		out.line("  error", safe(strings.TrimSpace(r.Result.ErrorCode+" "+r.Result.ErrorMessage)))
	}
	out.line("  metadata", safe(string(r.Metadata)))
	out.line("  kept until", r.ExpireAt)
}

func effectState(e ledger.Effect) string {
	if e.Abandoned != nil {
		return string(e.State) + " (waived)"
	}
	return string(e.State)
}
