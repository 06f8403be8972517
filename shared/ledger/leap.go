package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// longestRetryAfter is the longest wait that a receiver is believed to have asked for.
const longestRetryAfter = 24 * time.Hour

// steady reports whether the store's clock has run evenly for d at now. Before that the age of what
// was stored is not known, and nothing is given up because of it [R4, G6].
func steady(leapt, now time.Time, d time.Duration) bool { return leapt.IsZero() || now.Sub(leapt) >= d }

// since returns the time from t to the read, of which only the time since the last leap of the
// store's clock counts [S4, R4].
func (s Snapshot) since(t time.Time) time.Duration {
	return s.ReadTime.Sub(operation.Later(t, s.Leapt))
}

// Leapt returns when the store's clock leapt last, as it was known when the pass began; zero: never.
func (k *Lookups) Leapt() time.Time { return k.leapt }

// Steady reports whether at now the store's clock has run evenly for StuckAfter since leapt, so that an
// intent can be given up by its age [G6].
func (l Passes) Steady(leapt, now time.Time) bool { return steady(leapt, now, l.settings.StuckAfter) }

// RepairDueTimes makes due the documents whose due time is farther away than possible, for a pass
// that began at now: a clock that leapt forward and back wrote it. A lease ends ClaimTTL from now
// instead, because its worker may be running. It returns how many documents it changed. What cannot
// be read, or changes meanwhile, is left alone. The error joins those of queries and of single
// documents.
func (l Passes) RepairDueTimes(ctx context.Context, now time.Time) (int, error) {
	now = operation.Instant(now)
	s := l.settings
	brought := 0
	var errs []error
	for _, of := range []struct {
		collection string
		longest    time.Duration
		back       func(Document, time.Time) (Write, bool, error)
	}{
		{OperationsCollection, max(l.longest(), s.Grace), l.operationBack},
		{EffectsCollection, max(maxRequeueWait, s.ClaimTTL), l.effectBack},
		{IntentsCollection, max(maxSearchGap, s.StuckAfter), l.intentBack},
	} {
		what := fmt.Sprintf("finding %s that are due too late", of.collection)
		for after, more := (Cursor{At: now.Add(of.longest + s.Interval)}), true; more; more = after.Path != "" {
			page, err := find(ctx, l.store, what, queryOpen(of.collection, after, farPage),
				func(doc Document) (Document, error) { return doc, nil })
			if err != nil {
				errs = append(errs, err)
			}
			for _, doc := range page.Items {
				write, changes, err := of.back(doc, now)
				if err != nil || !changes {
					continue
				}
				switch err := l.commit(ctx, write); {
				case err == nil:
					brought++
				case !errors.Is(err, ErrConflict):
					errs = append(errs, fmt.Errorf("making %s due: %w", doc.Path, err))
				}
			}
			after = page.Next
		}
	}
	return brought, errors.Join(errs...)
}

// farPage is how many documents Passes.RepairDueTimes reads at once.
const farPage = 100

// notAfter moves times that are later than now to now: the clock that they are of was wrong.
func notAfter(now time.Time, times ...*time.Time) {
	for _, t := range times {
		if t.After(now) {
			*t = now
		}
	}
}

func (l *protocol) operationBack(doc Document, now time.Time) (Write, bool, error) {
	rec, err := l.readRecord(doc)
	if err != nil {
		return Write{}, false, err
	}
	rec.DueAt = now
	notAfter(now, &rec.CreatedAt, &rec.StuckSince, &rec.AlertedAt, &rec.ConditionSince, &rec.MissingSince,
		&rec.MissingAlertedAt)
	_, write := l.writeRecord(doc, rec, now)
	return write, true, nil
}

func (l *protocol) effectBack(doc Document, now time.Time) (Write, bool, error) {
	effect, err := readEffect(doc)
	if err != nil {
		return Write{}, false, err
	}
	before := effect.DueAt
	switch {
	case effect.State == EffectClaimed:
		notAfter(now.Add(l.settings.ClaimTTL), &effect.ClaimableAt)
	case !effect.asked(now):
		notAfter(now, &effect.ClaimableAt)
	}
	notAfter(now, &effect.CreatedAt)
	if effect.Failing != nil {
		notAfter(now, &effect.Failing.Since, &effect.Failing.Last, &effect.Failing.AlertedAt)
	}
	if effect.Lost != nil {
		notAfter(now, &effect.Lost.Since)
	}
	for i := range effect.History {
		notAfter(now, &effect.History[i].Began, &effect.History[i].Ended)
	}
	effect.DueAt = operation.Later(effect.ClaimableAt, now)
	return l.writeEffect(doc, effect), !effect.DueAt.Equal(before), nil
}

// asked reports whether a PENDING effect waits because its receiver may have asked for it: not where its last
// attempt did not fail.
func (e Effect) asked(now time.Time) bool {
	if n := len(e.History); n > 0 && e.History[n-1].Outcome == AttemptContinued {
		return false
	}
	return e.Failing != nil && !e.Failing.Last.After(now) && e.ClaimableAt.Sub(e.Failing.Last) <= longestRetryAfter
}

func (l *protocol) intentBack(doc Document, now time.Time) (Write, bool, error) {
	intent, err := readIntent(doc)
	if err != nil {
		return Write{}, false, err
	}
	notAfter(now, &intent.CreatedAt, &intent.RenewedAt, &intent.AbandonedAt)
	for i := range intent.Names {
		notAfter(now, &intent.Names[i].At)
	}
	intent = l.nextIntent(intent, now)
	if !intent.DueAt.IsZero() {
		intent.DueAt = now
	}
	return Write{Path: doc.Path, Token: doc.Token, Data: intent}, true, nil
}
