package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// How long, and how often, the operation of an intent is looked for.
const (
	// SearchFor is how long an intent is still searched for after it was given up, and how long a
	// name that was kept with it is looked up. A batch ends within 48 hours.
	SearchFor = 72 * time.Hour
	// seldom is the longest time between two searches.
	seldom = time.Hour
	// maxNames is how many names an intent keeps that may still be looked up.
	maxNames = 5
)

// A KeptName is the name of an operation that a delivery put beside an intent's correlation id,
// while Gemini did not know it. Nothing but a look-up that finds it ties it to the intent.
type KeptName struct {
	Key  operation.Key `json:"key" firestore:"key"`
	Name string        `json:"name" firestore:"name"` // to ask the API with [K5]
	At   time.Time     `json:"at" firestore:"at"`     // when it was kept
}

// Listable reports whether Gemini's list of batches may have what the intent waits for. Videos and
// interactions cannot be listed.
func (i Intent) Listable() bool { return i.Collection == "" || i.Collection == operation.Batches }

// Searched reports whether a waiting intent's operation is to be looked for in Gemini's list at
// now.
func (i Intent) Searched(now time.Time) bool {
	if !i.Listable() {
		return false
	}
	return i.State == IntentOpen || i.State == IntentAbandoned && now.Before(i.AbandonedAt.Add(SearchFor))
}

// ToLookUp returns the kept names of a waiting intent that are to be looked up at now.
func (i Intent) ToLookUp(now time.Time) []operation.Name {
	if !i.Waiting() {
		return nil
	}
	var names []operation.Name
	for _, kept := range i.Names {
		if kept.fresh(now) {
			names = append(names, operation.Name{Key: kept.Key, Resource: kept.Name})
		}
	}
	return names
}

func (k KeptName) fresh(now time.Time) bool { return now.Before(k.At.Add(SearchFor)) }

// nextSearch returns when a pass looks for the operation again of an intent that was given up, or
// has names to look up; the zero Time where none does. Searches are half as far apart as the last
// news of the intent is old: an interval at first, an hour at last.
func (l *Ledger) nextSearch(intent Intent, now time.Time) time.Time {
	news := intent.AbandonedAt
	for _, kept := range intent.Names {
		if kept.At.After(news) {
			news = kept.At
		}
	}
	searched := intent.State == IntentAbandoned && intent.Searched(now)
	if !searched && len(intent.ToLookUp(now)) == 0 {
		return time.Time{}
	}
	gap := max(l.settings.Interval, min(now.Sub(news)/2, seldom))
	return operation.Instant(now.Add(gap - l.early()))
}

// KeepName keeps a name with the intent that waits under a correlation id, for passes to look it
// up. It reports whether the name is with the intent now. False: no intent waits under the id, or
// as many names as it may keep are looked up already. Whoever calls vouches for the id, and for
// nothing else.
//
// The same again is safe. Errors: as Ingest.
func (l *Ledger) KeepName(ctx context.Context, correlationID string, name operation.Name) (bool, error) {
	kept := false
	err := l.decide(ctx, fmt.Sprintf("keeping %s with the intent %q", name.Key, correlationID), func(int) error {
		snapshot, err := l.store.Get(ctx, intentPath(correlationID))
		if err != nil {
			return err
		}
		doc, now := snapshot.Documents[0], snapshot.ReadTime
		intent, err := readIntent(doc)
		if err != nil {
			return err
		}
		known := slices.ContainsFunc(intent.Names, func(k KeptName) bool { return k.Key == name.Key && k.fresh(now) })
		kept = intent.Waiting() && (known || len(intent.ToLookUp(now)) < maxNames)
		if known || !kept {
			return nil
		}
		intent.Names = append(slices.DeleteFunc(slices.Clone(intent.Names), func(k KeptName) bool {
			return k.Key == name.Key || !k.fresh(now)
		}), KeptName{Key: name.Key, Name: name.Resource, At: operation.Instant(now)})
		return l.store.Commit(ctx, l.writeIntent(doc, intent, now))
	})
	return kept && err == nil, err
}

// PostponeIntent takes an intent for the caller's pass, which began at passStart: it moves the
// intent's due time on, or, where nothing is looked for any more, lets it expire some day. It
// reports whether the search goes on. ErrConflict: somebody else has just changed or taken it;
// leave it alone. Other errors are the store's, and the intent may be due still.
func (l *Ledger) PostponeIntent(ctx context.Context, d DueIntent, passStart time.Time) (bool, error) {
	write := l.writeIntent(d.doc, d.Intent, passStart)
	if err := l.store.Commit(ctx, write); err != nil {
		return false, fmt.Errorf("taking the intent %q for this pass: %w", d.Intent.CorrelationID, err)
	}
	postponed, ok := write.Data.(Intent)
	return ok && !postponed.DueAt.IsZero(), nil
}

// Overdue reports whether an OPEN intent is to be given up at now, where nothing was found of it.
func (i Intent) Overdue(now time.Time) bool { return i.State == IntentOpen && !now.Before(i.GiveUpAt) }

// GiveUpAnyway is how long after its submitter's last attempt an intent is given up although nobody
// could say that nothing came of it.
func (l *Ledger) GiveUpAnyway() time.Duration { return 2 * l.settings.StuckAfter }

// AbandonIntent stops waiting for an intent's operation, for a pass that began at now. It is still
// searched for during SearchFor, where it can be listed; an operation that shows itself later is
// bound all the same. ErrConflict: the intent is no longer as it was found, bound perhaps, or given
// up by somebody else; leave it alone. Other errors: as Ingest, and the intent may be due still.
func (l *Ledger) AbandonIntent(ctx context.Context, d DueIntent, now time.Time) error {
	intent := d.Intent
	intent.State, intent.AbandonedAt, intent.Writer = IntentAbandoned, operation.Instant(now), l.nonce()
	what := fmt.Sprintf("abandoning the intent %q", intent.CorrelationID)
	changed := false
	err := l.decide(ctx, what, func(tries int) error {
		if tries > 0 {
			doc, found, err := l.intent(ctx, intent.CorrelationID)
			if err != nil || found.Writer == intent.Writer && found.State == IntentAbandoned {
				return err
			}
			if changed = doc.Token != d.doc.Token; changed {
				return nil
			}
		}
		return l.store.Commit(ctx, l.writeIntent(d.doc, intent, now))
	})
	if err == nil && changed {
		return fmt.Errorf("%s: %w", what, ErrConflict)
	}
	return err
}
