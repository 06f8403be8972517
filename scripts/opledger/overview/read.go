package overview

import (
	"context"
	"slices"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

func (o *Overview) readPending(ctx context.Context, l ledger.Reading, _ int) error {
	filter := ledger.Filter{Pending: true, Limit: 1}
	page, err := l.Operations.List(ctx, filter)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	if len(page.Items) > 0 {
		o.Pending.NextAt = page.Items[0].DueAt
	}
	if o.Pending.NextAt.Before(o.At) {
		o.Pending.DueSince = o.Pending.NextAt
	}
	o.Pending.Total, err = l.Operations.Count(ctx, filter)
	return err
}

// readMissingLately reads which operations Gemini does not know, of those that are not late yet.
func (o *Overview) readMissingLately(ctx context.Context, l ledger.Reading, most int) error {
	page, err := l.Operations.List(ctx, ledger.Filter{Pending: true, Limit: most})
	missing := &o.Pending.MissingLately
	for _, r := range page.Items {
		if r.MissingSince.IsZero() || !r.LateAt.After(o.At) {
			continue
		}
		missing.Count++
		if missing.Count == 1 || r.MissingSince.Before(missing.Since) {
			missing.First, missing.Since = r.Key, r.MissingSince
		}
	}
	missing.Partial = missing.Count > 0 && page.Next.Path != ""
	return err
}

// Ever is later than any operation is late first.
const Ever = 100 * 365 * 24 * time.Hour

// readLate reads the pending operations that are late, as list --late shows them, and where none is, the
// one that will be late first.
func (o *Overview) readLate(ctx context.Context, l ledger.Reading, most int) error {
	filter := ledger.Filter{Late: o.At, Limit: most}
	page, err := l.Operations.List(ctx, filter)
	if err != nil {
		return err
	}
	for _, r := range page.Items {
		if !r.MissingSince.IsZero() {
			o.Pending.Missing++
		}
	}
	o.Pending.Partial = page.Next.Path != ""
	o.Pending.Late, err = count(page, func() (ledger.Total, error) { return l.Operations.Count(ctx, filter) })
	o.Broken = append(o.Broken, page.Broken...)
	for i, r := range page.Items {
		if submitted := r.Submitted(); i == 0 || submitted.Before(o.Pending.SubmittedAt) {
			o.Pending.Oldest, o.Pending.SubmittedAt = r.Key, submitted
		}
	}
	if err == nil && len(page.Items) == 0 {
		err = o.readSoonLate(ctx, l, most)
	}
	return err
}

// readSoonLate reads the pending operation that is, or will be, late first, behind at most so many that cannot
// be read.
func (o *Overview) readSoonLate(ctx context.Context, l ledger.Reading, most int) error {
	filter := ledger.Filter{Late: o.At.Add(Ever), Limit: 1}
	for range most + 1 {
		page, err := l.Operations.List(ctx, filter)
		if err != nil {
			return err
		}
		o.Broken = append(o.Broken, page.Broken...)
		for _, r := range page.Items {
			o.Pending.Oldest, o.Pending.SubmittedAt = r.Key, r.Submitted()
		}
		if len(page.Items) > 0 || page.Next.Path == "" {
			return nil
		}
		filter.After = page.Next
	}
	return nil
}

// count counts the items of a list whose first page is page. Where that is all the index is not asked: it may
// also count what an older revision has ended since [L5]. A page without items is not all where it has a
// Next: what cannot be read fills it, too.
func count[T any](page ledger.Page[T], byIndex func() (ledger.Total, error)) (ledger.Total, error) {
	if page.Next.Path == "" {
		return ledger.Total{N: len(page.Items)}, nil
	}
	return byIndex()
}

func (o *Overview) readEffects(ctx context.Context, l ledger.Reading, most int) error {
	page, err := l.Effects.Open(ctx, ledger.Cursor{}, most)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	o.Effects.Partial = o.partial(page.Next)
	var lately []ledger.Effect
	for _, item := range page.Items {
		e := item.Effect
		first := o.Effects.ClaimableSince
		if e.ClaimableAt.Before(o.At) && (first.IsZero() || e.ClaimableAt.Before(first)) {
			o.Effects.ClaimableSince, o.Effects.First = e.ClaimableAt, e.Operation
		}
		o.noteUnknown(e)
		if e.State != ledger.EffectPending || e.Failing == nil {
			continue
		}
		o.Effects.Failing++
		if e.FailingSince.IsZero() || e.FailingSince.After(o.failingBefore()) {
			lately = append(lately, e)
		}
	}
	if len(lately) > 0 {
		o.Effects.FailingFirst = lately[0].Operation
	}
	o.Effects.FailingLately, o.Effects.Errors = len(lately), phrase.GroupFailures(lately)
	if o.Effects.Open, err = l.Effects.CountOpen(ctx); err == nil {
		o.Effects.Running, err = l.Effects.CountRunning(ctx)
	}
	return err
}

// noteUnknown counts an open effect whose rule no worker has.
func (o *Overview) noteUnknown(e ledger.Effect) {
	rule := ledger.RuleOf(e.Name)
	if o.rules == nil || slices.Contains(o.rules, rule) || job.IsStep(rule) {
		return
	}
	i := slices.IndexFunc(o.Effects.Unknown, func(u UnknownEffect) bool { return u.Name == rule })
	if i < 0 {
		i, o.Effects.Unknown = len(o.Effects.Unknown), append(o.Effects.Unknown, UnknownEffect{rule, 0, e.Operation})
	}
	o.Effects.Unknown[i].Count++
}

// failingBefore is when what needs an operator began to fail, or earlier.
func (o *Overview) failingBefore() time.Time { return o.At.Add(-FailingFor) }

func (o *Overview) readFailing(ctx context.Context, l ledger.Reading, most int) error {
	before := o.failingBefore()
	page, err := l.Effects.Failing(ctx, before, ledger.Cursor{}, most)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	if len(page.Items) > 0 {
		e := page.Items[0]
		o.Effects.Long.Since, o.Effects.Long.Operation, o.Effects.Long.Error = e.FailingSince, e.Operation, e.LastError
	}
	o.Effects.Long.Errors, o.Effects.Long.Partial = phrase.GroupFailures(page.Items), page.Next.Path != ""
	o.Effects.Long.Total, err = count(page, func() (ledger.Total, error) { return l.Effects.CountFailing(ctx, before) })
	return err
}

func (o *Overview) readDead(ctx context.Context, l ledger.Reading, most int) error {
	filter := ledger.Filter{Dead: true, Limit: most}
	page, err := l.Operations.List(ctx, filter)
	if err != nil {
		return err
	}
	effects, broken, err := l.Effects.Dead(ctx, page.Items)
	if err != nil {
		return err
	}
	o.Broken = append(append(o.Broken, page.Broken...), broken...)
	o.Dead.Errors, o.Dead.Partial = phrase.GroupFailures(effects), page.Next.Path != ""
	if o.Dead.Partial {
		o.Dead.Newest = len(page.Items)
	}
	o.Dead.Total, err = l.Operations.Count(ctx, filter)
	return err
}

func (o *Overview) readQuarantine(ctx context.Context, l ledger.Reading, _ int) (err error) {
	if o.Unread.Total, err = l.Quarantine.Count(ctx, ledger.QuarantineFilter{}); err != nil || o.Unread.N == 0 {
		return err
	}
	filter := ledger.QuarantineFilter{Unresolved: true, Limit: 1}
	page, err := l.Quarantine.List(ctx, filter)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	o.Unread.Unresolved, err = count(page, func() (ledger.Total, error) { return l.Quarantine.Count(ctx, filter) })
	return err
}

func (o *Overview) readIntents(ctx context.Context, l ledger.Reading, most int) error {
	page, err := l.Intents.Waiting(ctx, ledger.Cursor{}, most)
	if err != nil {
		return err
	}
	o.Broken, o.Intents.Partial = append(o.Broken, page.Broken...), o.partial(page.Next)
	for _, item := range page.Items {
		_, decided := item.Intent.Decision()
		switch {
		case item.Intent.State != ledger.IntentAbandoned:
		case decided:
			o.Intents.decided++
		default:
			o.Intents.Abandoned++
		}
	}
	o.Intents.Total, err = l.Intents.CountWaiting(ctx)
	return err
}

func (o *Overview) readConflicts(ctx context.Context, l ledger.Reading, _ int) error {
	filter := ledger.Filter{Conflict: true, Since: o.At.Add(-ConflictsFor), Limit: 1}
	page, err := l.Operations.List(ctx, filter)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	if len(page.Items) > 0 {
		o.Conflicts.Newest, o.Conflicts.At = page.Items[0].Key, page.Items[0].ConflictAt
	}
	o.Conflicts.Total, err = count(page, func() (ledger.Total, error) { return l.Operations.Count(ctx, filter) })
	return err
}

func (o *Overview) readUnregistered(ctx context.Context, l ledger.Reading, _ int) error {
	filter := ledger.Filter{Unregistered: o.At, Limit: 1}
	page, err := l.Operations.List(ctx, filter)
	if err != nil {
		return err
	}
	o.Broken = append(o.Broken, page.Broken...)
	if len(page.Items) == 0 && page.Next.Path == "" {
		return nil
	}
	if len(page.Items) > 0 {
		o.Unregistered.Newest, o.Unregistered.At = page.Items[0].Key, page.Items[0].CreatedAt
	}
	if o.Unregistered.Total, err = l.Operations.Count(ctx, filter); err == nil {
		filter.Unregistered = o.At.Add(-UnregisteredFor)
		o.Unregistered.Long, err = l.Operations.Count(ctx, filter)
	}
	return err
}

// partial notes and reports whether a list goes on behind what was read.
func (o *Overview) partial(next ledger.Cursor) bool {
	more := next.Path != ""
	o.Partial = o.Partial || more
	return more
}
