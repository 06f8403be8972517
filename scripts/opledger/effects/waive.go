package effects

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// NewWaive makes opledger waive.
func NewWaive(outside terminal.Environment) *cobra.Command {
	s := waiveSelection{replaySelection{dead: true}}
	d := decision.Decider{Outside: outside}
	cmd := &cobra.Command{
		Use:   "waive [NAME] --effect EFFECT --reason TEXT",
		Short: "Record that dead effects need nothing more",
		Long: "Waives a dead effect together with its failed items: nothing runs it, and it needs no operator. It\n" +
			"can still be replayed until its record expires. Who decided, when and why is recorded.\n\n" +
			"With --receiver it waives all dead effects that one host gets, or those that the other flags choose of\n" +
			"them. It says how many they are, and asks.",
		Example: "  opledger waive batches/abc123 --effect publish --reason 'published by hand'\n" +
			"  opledger waive --receiver hooks.example.com --dry-run\n" +
			"  opledger waive --receiver hooks.example.com --since 24h --reason 'the shop took them from a file'",
		Args: terminal.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.parseWaive(args, d.DryRun, time.Now()); err != nil {
				return terminal.Usage(err)
			}
			if s.receiver != "" {
				return d.DecideAll(cmd.Context(), decision.Several{
					Verb: "waive", Past: "waived", One: "dead effect", Find: s.findDead,
				})
			}
			return d.DecideOn(cmd.Context(), args[0], func(a *actions.Actions, key operation.Key) (any, string, error) {
				stands, words, err := a.Waive(cmd.Context(), key, s.effect, d.Decision)
				if errors.Is(err, ledger.ErrNotFound) {
					rec, readErr := recordOrAlerts(cmd.Context(), a.Ledger, key)
					if err = readErr; err == nil {
						err = noEffect(rec, s.effect, "", a.StoreFlag)
					}
				}
				return stands.JSON("waived", waivedFields(key, s.effect)), words, err
			})
		},
	}
	d.Flags(cmd)
	terminal.YesFlag(cmd, &d.Outside)
	cmd.Flags().BoolVar(&d.DryRun, "dry-run", false, "with --receiver: print what would be waived, and record nothing")
	s.waiveFlags(cmd)
	return cmd
}

func waivedFields(key operation.Key, effect string) map[string]any {
	return map[string]any{"operation": key, "effect": effect}
}

// A waiveSelection says which dead effects to waive.
type waiveSelection struct{ replaySelection }

func (s *waiveSelection) waiveFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.effect, "effect", "", "the dead effect; with --receiver only this effect and its reruns")
	cmd.Flags().StringVar(&s.receiver, "receiver", "", "all dead effects that this `HOST` gets")
	cmd.Flags().StringVar(&s.since, "since", "", "with --receiver: only effects that died since then: 24h ago, or a time "+
		"such as 2026-11-21T02:00:00Z")
	cmd.Flags().StringVar(&s.why, "error", "", "with --receiver: only effects whose last error contains this `TEXT`")
	terminal.Selectors(cmd, "effect", "receiver", "since", "error")
}

// parseWaive reads the arguments and flags.
func (s *waiveSelection) parseWaive(args []string, dryRun bool, now time.Time) (err error) {
	switch several := s.receiver != ""; {
	case several && len(args) == 1:
		return errors.New("name an operation, or select several effects with --receiver: not both")
	case !several && len(args) == 0:
		return errors.New("name an operation and its --effect, or select several effects with --receiver")
	case !several && s.effect == "":
		return errors.New("--effect is missing")
	case !several && (s.since != "" || s.why != "" || dryRun):
		return errors.New("--since, --error and --dry-run: they are for --receiver")
	}
	if s.since != "" {
		s.after, err = terminal.ParsePast(s.since, now)
	}
	return terminal.Prefixed("--since", err)
}

// findDead returns the decisions about the dead effects of a receiver.
func (s *waiveSelection) findDead(ctx context.Context, w open.Writer) (found decision.Found, err error) {
	dead, err := s.findReceiver(ctx, w.Ledger, spec.Receivers(w.Settings.Effects))
	a := w.Actions()
	for _, t := range dead.targets {
		found.Add(t.title(), waivedFields(t.Operation, t.Effect),
			func(d ledger.Decision) (actions.Decision, string, error) {
				return a.Waive(ctx, t.Operation, t.Effect, d)
			})
	}
	found.Broken, found.None = dead.broken, dead.none
	return found, err
}
