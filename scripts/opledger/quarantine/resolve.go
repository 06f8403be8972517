package quarantine

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

func newResolve(outside terminal.Environment) *cobra.Command {
	var unresolved bool
	var kept string
	d := decision.Decider{Outside: outside}
	cmd := &cobra.Command{
		Use:   "resolve [DELIVERY] --reason TEXT",
		Short: "Record that quarantined deliveries need nothing more",
		Long: "Records that a quarantined delivery needs no operator any more: who decided, when and why. Its body\n" +
			"stays until its retention ends, and can still be retried.\n\n" +
			"With --unresolved it resolves all that opledger quarantine list --unresolved shows, or those of them that\n" +
			"were kept for one reason. It says how many they are, and asks.",
		Example: "  opledger quarantine resolve msg_2x… --reason 'sent by a test of another team'\n" +
			"  opledger quarantine resolve --unresolved --kept-for malformed --reason 'all of one test'",
		Args: terminal.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && (unresolved || kept != ""):
				return terminal.Usage(errors.New("name a delivery, or select several with --unresolved: not both"))
			case len(args) == 0 && !unresolved:
				return terminal.Usage(errors.New("name a delivery, or select several with --unresolved"))
			case unresolved:
				return d.DecideAll(cmd.Context(), decision.Several{
					Verb: "resolve", Past: "resolved", One: "quarantined delivery",
					Find: func(ctx context.Context, w open.Writer) (decision.Found, error) {
						return findUnresolved(ctx, w.Actions(), kept)
					},
				})
			}
			return d.Decide(cmd.Context(), func(a *actions.Actions) (any, string, error) {
				stands, words, err := resolveDelivery(cmd.Context(), a, args[0], d.Decision)
				return stands.JSON("resolved", deliveryFields(args[0])), words, err
			})
		},
	}
	d.Flags(cmd)
	terminal.YesFlag(cmd, &d.Outside)
	cmd.Flags().BoolVar(&unresolved, "unresolved", false, "all that need an operator: neither ingested later nor resolved")
	cmd.Flags().StringVar(&kept, "kept-for", "", "with --unresolved: only those kept for this reason, such as malformed")
	terminal.Selectors(cmd, "kept-for")
	return cmd
}

// findUnresolved returns the decisions about the deliveries that need an operator; kept, if not empty,
// is the reason why they are kept.
func findUnresolved(ctx context.Context, a *actions.Actions, kept string) (f decision.Found, err error) {
	for filter := (ledger.QuarantineFilter{Unresolved: true, Limit: 500}); ; {
		page, err := a.Ledger.Quarantine.List(ctx, filter)
		if err != nil {
			return f, err
		}
		f.Broken = append(f.Broken, page.Broken...)
		for _, q := range page.Items {
			if kept == "" || q.Reason == kept {
				f.Add(phrase.Safe(q.ID), deliveryFields(q.ID), func(d ledger.Decision) (actions.Decision, string, error) {
					return resolveDelivery(ctx, a, q.ID, d)
				})
			}
		}
		if filter.After = page.Next; page.Next.Path == "" {
			return f, nil
		}
	}
}

// resolveDelivery resolves a quarantined delivery, and returns the decision that stands.
func resolveDelivery(
	ctx context.Context, a *actions.Actions, id string, d ledger.Decision,
) (stands actions.Decision, words string, err error) {
	stands, words, err = a.ResolveQuarantined(ctx, id, d)
	return stands, words, withQuarantineRemedy(err, a.StoreFlag)
}

func deliveryFields(id string) map[string]any { return map[string]any{"delivery": id} }
