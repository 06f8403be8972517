package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// NewResolve makes opledger resolve.
func NewResolve(outside terminal.Environment) *cobra.Command {
	var s resolveSelection
	d := decision.Decider{Outside: outside}
	cmd := &cobra.Command{
		Use:   "resolve [NAME] --reason TEXT",
		Short: "Record that conflicts, unregistered operations or an effect left out are resolved",
		Long: "Records that an operation needs no operator any more: who decided, when and why. One that ended in\n" +
			"two ways leaves list --conflict: the first state stands as before, the record keeps the other, and no\n" +
			"effect runs. A repeat of the other is dropped; a third state is a new conflict. One\n" +
			"that is not registered, because it is another program's, leaves list --unregistered; it can still be\n" +
			"registered. For a body in quarantine there is opledger quarantine resolve.\n\n" +
			"With --conflict or --unregistered it resolves all that opledger list shows with the same flags; of those\n" +
			"that are not registered, only those that have waited for an hour. It says how many they are, and asks.\n\n" +
			"With --without it records that an effect is left out on purpose: serve, or a deployment, began without it.\n" +
			"status says so no more, and what ended without it stays without it. opledger replay --without plans it.",
		Example: "  opledger resolve batches/abc123 --reason 'SUCCEEDED is true, as Gemini says'\n" +
			"  opledger resolve batches/abc123 --reason 'a batch of another team'\n" +
			"  opledger resolve --unregistered --collection batches --reason 'all of another team'\n" +
			"  opledger resolve --without publish --reason 'another service does it now'",
		Args: terminal.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.parse(args); err != nil {
				return terminal.Usage(err)
			}
			if len(args) == 0 {
				return d.DecideAll(cmd.Context(), decision.Several{
					Verb: "resolve", Past: "resolved", One: s.what(), Find: s.find,
				})
			}
			return d.DecideOn(cmd.Context(), args[0], func(a *actions.Actions, key operation.Key) (any, string, error) {
				seen, err := a.Ledger.Operations.Read(cmd.Context(), key)
				if err != nil {
					return nil, "", err
				}
				stands, words, err := a.Resolve(cmd.Context(), seen, d.Decision)
				return stands.JSON("resolved", resolvedFields(seen)), words, err
			})
		},
	}
	d.Flags(cmd)
	terminal.YesFlag(cmd, &d.Outside)
	s.flags(cmd)
	return cmd
}

// resolvedFields have the state that conflicts as other; without it the operation is not registered.
func resolvedFields(seen operation.Record) map[string]any {
	fields := map[string]any{"operation": seen.Key, "stands": seen.State}
	if seen.ConflictState != "" {
		fields["other"] = seen.ConflictState
	}
	return fields
}

// A resolveSelection says which operations to resolve, where none is named.
type resolveSelection struct {
	filter       open.Filter
	unregistered bool
	without      string // an effect that was left out
}

func (s *resolveSelection) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.filter.Conflict, "conflict", false, "all operations that ended in two ways")
	cmd.Flags().BoolVar(&s.unregistered, "unregistered", false, "all operations that are not registered")
	s.filter.Add(cmd)
	cmd.Flags().StringVar(&s.without, "without", "", "the `EFFECT` that is left out on purpose")
	terminal.Selectors(cmd, "without")
	terminal.Exclusive(cmd, "conflict", "unregistered", "without")
}

// parse reads the arguments and flags.
func (s *resolveSelection) parse(args []string) error {
	several := s.filter.Conflict || s.unregistered || s.without != ""
	chosen := s.filter.Narrows()
	switch {
	case len(args) == 1 && (several || chosen):
		return errors.New("name an operation, or select several with --conflict or --unregistered, or give --without: " +
			"one of these")
	case len(args) == 0 && !several:
		return errors.New("name an operation, or select several with --conflict or --unregistered, or give --without")
	case s.without != "" && chosen:
		return errors.New("--without: it is about an effect; leave out --state, --collection and --job-kind")
	}
	s.filter.Limit = 500
	return s.filter.Parse()
}

// what names the selected operations in a question.
func (s *resolveSelection) what() string {
	switch {
	case s.unregistered:
		return "unregistered operation"
	case s.without != "":
		return "effect that is left out"
	}
	return "conflict"
}

// find returns the decisions about the selected operations.
func (s *resolveSelection) find(ctx context.Context, w open.Writer) (found decision.Found, err error) {
	a, filter := w.Actions(), s.filter.Filter
	if s.without != "" {
		effect, err := a.Ledger.Effects.FindLeftOut(ctx, s.without)
		if err != nil {
			return found, err
		}
		found.Add(phrase.Safe(s.without)+", so that what ended without it stays without it",
			map[string]any{"effect": effect.Rule.Name}, func(d ledger.Decision) (actions.Decision, string, error) {
				return a.ResolveLeftOut(ctx, effect.Rule.Name, d)
			})
		return found, nil
	}
	if s.unregistered {
		var now time.Time
		if now, err = a.Ledger.Now(ctx); err != nil {
			return found, err
		}
		// A younger one may be this program's own: its registration may still come.
		filter.Unregistered = now.Add(-overview.UnregisteredFor)
	}
	err = open.EachPage(ctx, a.Ledger, filter, func(page ledger.Page[operation.Record]) error {
		for _, seen := range page.Items {
			record := func(d ledger.Decision) (actions.Decision, string, error) { return a.Resolve(ctx, seen, d) }
			if s.unregistered {
				seen.ConflictState = "" // its conflict stays, if it has one: the reason is not about that
				record = func(d ledger.Decision) (actions.Decision, string, error) {
					return a.ResolveUnregistered(ctx, seen.Key, d)
				}
			}
			found.Add(phrase.Safe(string(seen.Key)), resolvedFields(seen), record)
		}
		found.Broken = append(found.Broken, page.Broken...)
		return nil
	})
	found.None = "no selected operation ended in two ways"
	if err == nil && s.unregistered && found.Len() == 0 {
		found.None, err = s.noneUnregistered(ctx, a)
	}
	return found, err
}

// noneUnregistered says why no operation that is not registered is resolved: those that there are have not waited for
// long enough.
func (s *resolveSelection) noneUnregistered(ctx context.Context, a *actions.Actions) (why string, err error) {
	filter := s.filter.Filter
	if filter.Unregistered, err = a.Ledger.Now(ctx); err != nil {
		return "", err
	}
	waiting, first := 0, filter.Unregistered
	err = open.EachPage(ctx, a.Ledger, filter, func(page ledger.Page[operation.Record]) error {
		waiting += len(page.Items)
		for _, rec := range page.Items {
			first = operation.Earlier(first, rec.CreatedAt)
		}
		return nil
	})
	if waiting == 0 {
		return "every selected operation is registered", err
	}
	return fmt.Sprintf("of %s that may still be registered, the first is due at %s: a submitter may take %s; name one to "+
		"resolve it at once", phrase.Counted(waiting, "operation"), phrase.LocalTime(first.Add(overview.UnregisteredFor)),
		phrase.Span(overview.UnregisteredFor)), err
}
