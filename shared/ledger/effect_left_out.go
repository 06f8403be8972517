package ledger

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// ErrNotLeftOut: no process began without the effect after another had planned it.
var ErrNotLeftOut = errors.New("no start has left out an effect of that name")

// A LeftOut is an effect that one process planned, and one that began later does not [L7]. Operations that end
// meanwhile are settled without it.
type LeftOut struct {
	Rule Rule `json:"rule" firestore:"rule"` // that planned it last
	// Since is when the first process began without it, by the store's clock. By is what that process is called.
	Since time.Time `json:"since" firestore:"since"`
	By    string    `json:"by" firestore:"by"`
	// Until is when a process began with it again; zero: none has.
	Until time.Time `json:"until,omitzero" firestore:"until,omitempty"`
	// Resolved is an operator's decision that nothing more is to be done about it.
	Resolved *operation.Decided `json:"resolved,omitempty" firestore:"resolved,omitempty"`
}

// IsZero reports whether o is about no effect.
func (o LeftOut) IsZero() bool { return o.Rule.Name == "" }

// Lasts reports whether no process has begun with the effect again.
func (o LeftOut) Lasts() bool { return o.Until.IsZero() }

// Misses reports whether the effect would have been planned for an operation, and was not: the operation ended
// meanwhile, and the rule matches it. An operation that ended earlier and was registered meanwhile is not found.
func (o LeftOut) Misses(rec operation.Record) bool {
	_, named := rec.Effects[o.Rule.Name]
	return !named && rec.Registered && !rec.IsPart() && o.Rule.Matches(rec) && !rec.SettledAt.Before(o.Since) &&
		(o.Lasts() || !rec.SettledAt.After(o.Until))
}

// leftOut returns what is left out, with what an older revision has not noted: that it began with an effect again.
func (s StoredSettings) leftOut() []LeftOut {
	all := slices.Clone(s.LeftOut)
	for i, o := range all {
		if o.Lasts() && Plans(s.Rules, o.Rule.Name) {
			all[i].Until = s.StoredAt
		}
	}
	return all
}

// leaveOut returns what is left out once next follows on before. A rule that byDefault has is missed by no one. What
// is resolved is forgotten after the retention, or where the effect is left out once more.
func leaveOut(before, next StoredSettings, byDefault []Rule, retention time.Duration, now time.Time) (all []LeftOut) {
	for _, o := range before.leftOut() {
		was, is := Plans(before.Rules, o.Rule.Name), Plans(next.Rules, o.Rule.Name)
		switch {
		case o.Resolved != nil && (was && !is || now.Sub(o.Resolved.At) > retention):
			continue
		case !is:
			o.Until = time.Time{}
		case o.Lasts():
			o.Until = operation.Instant(now)
		}
		all = append(all, o)
	}
	for _, rule := range before.Rules {
		same := func(other Rule) bool { return reflect.DeepEqual(other, rule) }
		known := func(o LeftOut) bool { return o.Rule.Name == rule.Name }
		if !Plans(next.Rules, rule.Name) && !slices.ContainsFunc(byDefault, same) && !slices.ContainsFunc(all, known) {
			all = append(all, LeftOut{Rule: rule, Since: operation.Instant(now), By: next.StoredBy})
		}
	}
	return all
}

// Plans reports whether one of the rules plans the effect of that name.
func Plans(rules []Rule, name string) bool {
	return slices.ContainsFunc(rules, func(rule Rule) bool { return rule.Name == name })
}

// LeftOut returns the effects that were left out, also those that are planned again or resolved: one read. The error
// is that of [ReadSettings].
func (l effectsReader) LeftOut(ctx context.Context) ([]LeftOut, error) {
	stored, err := ReadSettings(ctx, l.store)
	return stored.leftOut(), err
}

// FindLeftOut is LeftOut of the effect of that name. The error wraps ErrNotLeftOut where there is none.
func (l effectsReader) FindLeftOut(ctx context.Context, name string) (LeftOut, error) {
	all, err := l.LeftOut(ctx)
	if err != nil {
		return LeftOut{}, err
	}
	i := slices.IndexFunc(all, func(o LeftOut) bool { return o.Rule.Name == name })
	if i < 0 {
		return LeftOut{}, fmt.Errorf("the effect %q: %w", name, ErrNotLeftOut)
	}
	return all[i], nil
}

// ResolveLeftOut records an operator's decision that nothing more is to be done about an effect that was left out. It
// returns the decision that stands: of several the first. Calling it again is safe. Errors: ErrNotLeftOut;
// ErrNoReason; that of [ReadSettings]; the store's.
func (l Effects) ResolveLeftOut(ctx context.Context, name string, d Decision) (stands operation.Decided, err error) {
	if d.Why == "" {
		return stands, ErrNoReason
	}
	err = l.retry(ctx, "resolving that "+name+" is left out", func(int) error {
		stored, doc, now, err := readSettings(ctx, l.store)
		if err != nil {
			return err
		}
		stored.LeftOut = stored.leftOut()
		i := slices.IndexFunc(stored.LeftOut, func(o LeftOut) bool { return o.Rule.Name == name })
		if i < 0 {
			return fmt.Errorf("the effect %q: %w", name, ErrNotLeftOut)
		}
		if already := stored.LeftOut[i].Resolved; already != nil {
			stands = *already
			return nil
		}
		stored.LeftOut[i].Resolved = d.at(now)
		stands = *stored.LeftOut[i].Resolved
		stored.Version++
		return l.commit(ctx, Write{Path: settingsPath, Token: doc.Token, Data: stored})
	})
	return stands, err
}
