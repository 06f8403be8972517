package ledgertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// checkRecord returns an error for what no record of the ledger may hold.
func checkRecord(rec operation.Record) error {
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	must(
		!rec.Registered || rec.Closed() || rec.ExpireAt.IsZero(),
		"it expires at %v although something is open or dead [L3]", rec.ExpireAt,
	)
	dead := slices.Contains(slices.Collect(maps.Values(rec.Effects)), operation.EffectDead)
	must(rec.DeadEffect == dead, "deadEffect is %v; its effects are %v", rec.DeadEffect, rec.Effects)
	must(rec.Abandoned == nil || rec.DueAt.IsZero(), "it is due at %v although it was abandoned [R4]", rec.DueAt)
	must(
		rec.Abandoned == nil || rec.Abandoned.Why != "" && !rec.Abandoned.At.IsZero(),
		"it was abandoned without a reason or a time",
	)
	must(rec.LateAt.IsZero() == rec.DueAt.IsZero(), "it is late at %v, and due at %v [R4]", rec.LateAt, rec.DueAt)
	must(rec.UnresolvedAt.IsZero() || rec.Unregistered(), "unresolved at %v, registered %v [W5]", rec.UnresolvedAt,
		rec.Registered)
	must((rec.Condition == "") == rec.ConditionSince.IsZero(), "condition %q since %v", rec.Condition, rec.ConditionSince)
	must(rec.MissingSince.IsZero() || rec.Condition != "", "it is missing without a condition")
	must(rec.MissingAlertedAt.IsZero() || !rec.MissingSince.IsZero(), "it has alerted as missing, and is not missing")
	return errors.Join(errs...)
}

// fences remembers the fence of every version of every effect. It is safe for concurrent use.
type fences struct {
	mu  sync.Mutex
	all map[ledger.Path]map[int64]int64 // by version
}

// note checks a commit that succeeded. Commits may be noted in another order than they were made
// in.
func (f *fences) note(commit []ledger.Write) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, w := range commit {
		effect, ok := w.Data.(ledger.Effect)
		if !ok {
			continue
		}
		if w.Token == "" { // perhaps created again after it was forgotten
			delete(f.all, w.Path)
		}
		for version, fence := range f.all[w.Path] {
			if version < effect.Version && fence > effect.Fence || version > effect.Version && fence < effect.Fence {
				errs = append(
					errs,
					fmt.Errorf("%.80s: fence %d in version %d, %d in %d [S6]", w.Path, effect.Fence, effect.Version, fence, version),
				)
			}
		}
		if f.all == nil {
			f.all = map[ledger.Path]map[int64]int64{}
		}
		if f.all[w.Path] == nil {
			f.all[w.Path] = map[int64]int64{}
		}
		f.all[w.Path][effect.Version] = effect.Fence
	}
	return errors.Join(errs...)
}

// checkItem checks an item and the commit that writes it.
func checkItem(item ledger.Item, commit []ledger.Write) error {
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	key := operation.ItemIdempotencyKey(item.Operation, item.Effect, item.Key)
	must(item.IdempotencyKey == key, "its key is %s [K4]", item.IdempotencyKey)
	failed := !item.FailedAt.IsZero()
	must(!item.CreatedAt.IsZero() && (item.Attempts > 0 || item.State == ledger.ItemPending), "%+v", item)
	must(failed || item.State != ledger.ItemFailed, "it is FAILED and no query finds it")
	must(!failed || item.State != ledger.ItemDone, "it is DONE and failed at %v", item.FailedAt)
	waits := item.State == ledger.ItemPending
	must(waits == !item.WaitingSince.IsZero(), "it is %s and waits since %v", item.State, item.WaitingSince)
	kept := item.Response != "" || item.Error != ""
	must(
		failed == (kept || !item.FetchableUntil.IsZero()), "it failed at %v, is kept %v, and can be fetched until %v",
		item.FailedAt, kept, item.FetchableUntil,
	)
	if commitsOnlyFailed(commit) { // their expiry is set or cleared
		return errors.Join(errs...)
	}
	must(failed == item.ExpireAt.IsZero(), "it failed at %v and expires at %v [L3]", item.FailedAt, item.ExpireAt)
	must(slices.ContainsFunc(commit, func(w ledger.Write) bool {
		effect, ok := w.Data.(ledger.Effect)
		return ok && w.Path == ledger.EffectPath(item.Operation, item.Effect) && w.Token != "" &&
			effect.State == ledger.EffectClaimed && effect.Fence == item.Fence
	}), "the claim with fence %d of its effect is not in the commit [S6]", item.Fence)
	return errors.Join(errs...)
}

// commitsOnlyFailed reports whether a commit writes nothing but items that failed and exist
// already.
func commitsOnlyFailed(commit []ledger.Write) bool {
	return !slices.ContainsFunc(commit, func(w ledger.Write) bool {
		item, ok := w.Data.(ledger.Item)
		return !ok || w.Token == "" || item.FailedAt.IsZero()
	})
}

// checkEffect returns an error for what no effect of the ledger may hold.
func checkEffect(effect ledger.Effect, leaps bool) error {
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	dead := effect.State == ledger.EffectDead
	waived := dead && effect.Abandoned != nil
	must(
		effect.IdempotencyKey == operation.IdempotencyKey(effect.Operation, effect.Name), "its key is %s [K4]",
		effect.IdempotencyKey,
	)
	must(effect.Abandoned == nil || dead, "it is %s and waived", effect.State)
	closed := effect.State == ledger.EffectDone || waived
	must(
		closed == !effect.ExpireAt.IsZero(), "it is %s, waived %v, and expires at %v [L3]", effect.State, waived,
		effect.ExpireAt,
	)
	must((closed || dead) == effect.DueAt.IsZero(), "it is %s and due at %v [R5]", effect.State, effect.DueAt)
	if p := effect.Progress; p != nil {
		must(
			effect.State != ledger.EffectDone || effect.Recovered != nil || p.Done == p.Next && p.Done >= p.Total,
			"it is DONE and not all of its items: %+v [S4]", *p,
		)
		must(p.Waiting() >= 0, "its items do not add up: %+v", *p)
		must(effect.Schema >= 2, "it has progress and the number %d [L6]", effect.Schema)
	}
	must(
		effect.Rerun == "" || effect.Name == ledger.RuleOf(effect.Name)+"@"+effect.Rerun, "it is the run %q [G5]",
		effect.Rerun,
	)
	must(effect.Runs == 0 || effect.Rerun == "", "a run of its own has runs of its own [G5]")
	must(
		effect.Unanswered == 0 || !closed && !dead, "it is %s, and %d messages have no answer [R5]", effect.State,
		effect.Unanswered,
	)
	if f := effect.Failing; f != nil {
		must(
			f.Times > 0 && !f.Since.After(f.Last) && f.Times+effect.Interrupted <= effect.Attempts,
			"it fails so: %+v, of %d attempts and %d interrupted [S4]", f, effect.Attempts, effect.Interrupted,
		)
	}
	must(effect.Recovered == nil || effect.State == ledger.EffectDone, "it is %s and was recovered [S7]", effect.State)
	seen := map[string]bool{}
	for _, replay := range effect.Replays {
		must(replay.Message == "" || !seen[replay.Message], "it took in message %q twice [G5]", replay.Message)
		seen[replay.Message] = true
	}
	must(effect.DiedAt.IsZero() || dead, "it is %s and died at %v", effect.State, effect.DiedAt)
	return errors.Join(append(errs, checkHistory(effect, leaps))...)
}

// checkHistory returns an error for what no effect's history may hold. Only its last entry may be
// open: that of the claim. Every other ended before the next began, unless the clock leaps.
func checkHistory(effect ledger.Effect, leaps bool) error {
	if len(effect.History) > 10 {
		return fmt.Errorf("its history has %d entries", len(effect.History))
	}
	for i, a := range effect.History {
		last := i == len(effect.History)-1
		open := last && effect.State == ledger.EffectClaimed
		switch {
		case open != (a.Outcome == "") || open != a.Ended.IsZero() || open && a.Fence != effect.Fence:
			return fmt.Errorf("it is %s with fence %d and has the attempt %+v", effect.State, effect.Fence, a)
		case a.Began.IsZero() || !leaps && !open && a.Ended.Before(a.Began) || a.Fence > effect.Fence || len(a.Error) > 200:
			return fmt.Errorf("it has the attempt %+v", a)
		case i > 0 && (a.Fence <= effect.History[i-1].Fence || !leaps && a.Began.Before(effect.History[i-1].Ended)):
			return fmt.Errorf("the attempt %+v follows %+v", a, effect.History[i-1])
		case !utf8.ValidString(a.Error):
			return fmt.Errorf("the error of an attempt is not UTF-8: %.40q", a.Error)
		}
	}
	return nil
}
