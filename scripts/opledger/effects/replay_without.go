package effects

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// findWithout returns the effect that was left out, of each operation that ended without it. While no process plans
// it there is none to plan it for.
func (s replaySelection) findWithout(ctx context.Context, l *ledger.Ledger) (found replayFound, err error) {
	effect, err := l.Effects.FindLeftOut(ctx, s.without)
	if err != nil {
		return found, err
	}
	if !ledger.Plans(l.Settings().Rules, s.without) {
		return found, fmt.Errorf("--without: %s; then this plans it for what ended meanwhile",
			overview.LeftOutWords(effect, s.file))
	}
	filter := s.filter.Filter
	filter.Without = effect
	found.none = "no selected operation ended without the effect " + phrase.Safe(s.without)
	err = open.EachPage(ctx, l, filter, func(page ledger.Page[operation.Record]) error {
		for _, rec := range page.Items {
			if s.after.IsZero() || rec.SettledAt.After(s.after) {
				found.targets = append(found.targets, replayTarget{Operation: rec.Key, Effect: s.without, Status: unplanned})
			}
		}
		found.broken = append(found.broken, page.Broken...)
		return nil
	})
	return found, err
}

// leftOutOf says that an operation ended without an effect which was left out; empty: it did not.
func (s replaySelection) leftOutOf(ctx context.Context, l *ledger.Ledger, rec operation.Record) string {
	all, _ := l.Effects.LeftOut(ctx) // without it there is less to say
	var words []string
	for _, effect := range all {
		if s.effect != "" || s.dead || s.rerun || !effect.Misses(rec) {
			continue
		}
		name, then := effect.Rule.Name, ", which was left out then; "
		if !ledger.Plans(l.Settings().Rules, name) {
			then = "; " + overview.LeftOutWords(effect, s.file) + "; then "
		}
		words = append(words, fmt.Sprintf("%s ended without the effect %s%s--effect %s plans it",
			phrase.Safe(string(rec.Key)), phrase.Safe(name), then, phrase.ShellWord(name)))
	}
	return strings.Join(words, "; ")
}

// endLeftOut records that every operation has the effect of --without, which the overview cannot see where more ended
// than it reads. The selection must be of all of them, and no process may be without the effect.
func (r *replayer) endLeftOut(ctx context.Context, run *replayRun) error {
	narrowed := run.selection.filter.Narrows() || !run.selection.after.IsZero()
	unknown := func(t replayTarget) bool { return t.Status == unplanned || t.Status == unreadable }
	if narrowed || len(run.broken) > 0 || slices.ContainsFunc(run.targets, unknown) {
		return nil
	}
	effect, err := r.writer.Ledger.Effects.FindLeftOut(ctx, run.selection.without)
	if err != nil || effect.Lasts() || effect.Resolved != nil {
		return err
	}
	_, err = r.writer.Ledger.Effects.ResolveLeftOut(ctx, run.selection.without, ledger.Decision{
		By: r.by, Why: "opledger replay --without planned it for each operation that ended without it",
	})
	return err
}
