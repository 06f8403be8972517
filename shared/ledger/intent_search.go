package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// How long, and how often, an intent's operation is searched for.
const (
	// SearchFor is how long an intent is still searched for after it was given up, and how long a
	// kept name is looked up at least. A batch ends within 48 hours. Where Gemini could not be
	// asked, passes go on: see [Intents.ProlongSearch].
	SearchFor = 72 * time.Hour
	// maxSearchGap bounds the time between two searches, unless passes are rarer.
	maxSearchGap = time.Hour
	// maxNames bounds the names that are kept with an intent.
	maxNames = 5
)

// A KeptName is a name that a delivery gave an intent's operation while Gemini did not know it.
// Only a look-up that finds it ties it to the intent.
type KeptName struct {
	Key  operation.Key `json:"key" firestore:"key"`
	Name string        `json:"name" firestore:"name"` // for the API [K5]
	At   time.Time     `json:"at" firestore:"at"`     // when it was kept
}

// Listable reports whether the intent's operation may be in Gemini's list of batches. Videos and
// interactions cannot be listed.
func (i Intent) Listable() bool { return i.Collection == "" || i.Collection == operation.Batches }

// Searched reports whether a waiting intent's operation is to be searched for in Gemini's list at
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

// replaceable reports whether a kept name may give up its place: the time for it is over, and the
// intent is not due, so that a pass is likely to have looked it up since.
func (i Intent) replaceable(k KeptName, now time.Time) bool {
	return !k.fresh(now) && (i.DueAt.IsZero() || now.Before(i.DueAt))
}

// SearchOver reports whether the search for a given-up intent and its names is over at now. Of an
// open one the names alone count.
func (i Intent) SearchOver(now time.Time) bool {
	return (i.State != IntentAbandoned || !i.Searched(now)) && len(i.ToLookUp(now)) == 0
}

// nextSearch returns when a pass processes an intent again that was given up, or has names to look
// up; the zero Time where neither holds. The gap is half the time since it was given up or got its
// last name, at least an interval, at most an hour.
func (l *protocol) nextSearch(intent Intent, now time.Time) time.Time {
	news := intent.AbandonedAt
	for _, kept := range intent.Names {
		news = operation.Later(news, kept.At)
	}
	if intent.SearchOver(now) {
		return time.Time{}
	}
	gap := max(l.settings.Interval, min(now.Sub(news)/2, maxSearchGap))
	return operation.Instant(now.Add(gap - l.early()))
}

// KeepName stores a name with the intent that waits under a correlation id, to be looked up by
// passes. It reports whether the name is stored now. False: no intent waits under the id, or it has
// maxNames names already, none of which may give up its place. The caller vouches for the id, not
// for the name.
//
// Calling it again is safe. Errors: as Ingest.
func (l Intents) KeepName(ctx context.Context, correlationID string, name operation.Name) (bool, error) {
	kept := false
	err := l.retry(ctx, fmt.Sprintf("keeping %s with the intent %q", name.Key, correlationID), func(int) error {
		intent, doc, read, err := l.intent(ctx, correlationID)
		if err != nil {
			return err
		}
		now := read.ReadTime
		known := slices.ContainsFunc(intent.Names, func(k KeptName) bool { return k.Key == name.Key && k.fresh(now) })
		names := slices.DeleteFunc(slices.Clone(intent.Names), func(k KeptName) bool { return k.Key == name.Key })
		full := len(names) == maxNames
		kept = intent.Waiting() && (!full || intent.replaceable(names[0], now))
		if known || !kept {
			return nil
		}
		if full {
			names = names[1:]
		}
		intent.Names = append(names, KeptName{Key: name.Key, Name: name.Resource, At: operation.Instant(now)})
		if attempt := intent.attempt(); !attempt.ListedAt.IsZero() { // it may be the operation
			attempt.ListedAt = time.Time{}
			intent.Attempt = &attempt
		}
		return l.commit(ctx, l.writeIntent(doc, intent, now))
	})
	return kept && err == nil, err
}

// Postpone claims an intent for the pass that began at passStart. It moves the intent's due
// time or, where the search is over, lets the intent expire. It reports whether the search
// continues. ErrConflict: another call has changed or claimed it; leave it alone. Other errors are
// the store's, and the intent may still be due.
func (l Intents) Postpone(ctx context.Context, d DueIntent, passStart time.Time) (bool, error) {
	postponed := l.nextIntent(d.Intent, passStart)
	waits := !postponed.DueAt.IsZero()
	if waits {
		postponed.DueAt = dueFrom(postponed.DueAt, behindPass(passStart))
	}
	if err := l.commit(ctx, Write{Path: d.doc.Path, Token: d.doc.Token, Data: postponed}); err != nil {
		return false, fmt.Errorf("claiming the intent %q for this pass: %w", d.Intent.CorrelationID, err)
	}
	return waits, nil
}

// ProlongSearch keeps up a search whose time is over, for a pass that began at passStart. Gemini
// did not answer it, or the ledger did not take the answer. The intent is due again in an hour.
// Errors: as Intents.Postpone.
func (l Intents) ProlongSearch(ctx context.Context, d DueIntent, passStart time.Time) error {
	longer := l.nextIntent(d.Intent, passStart).prolonged(passStart)
	if err := l.commit(ctx, Write{Path: d.doc.Path, Token: d.doc.Token, Data: longer}); err != nil {
		return fmt.Errorf("prolonging the search for the intent %q: %w", d.Intent.CorrelationID, err)
	}
	return nil
}

// prolonged returns an intent that is searched for although the time for it is over.
func (i Intent) prolonged(now time.Time) Intent {
	if i.DueAt.IsZero() {
		i.DueAt, i.ExpireAt = operation.Instant(now.Add(maxSearchGap)), time.Time{}
	}
	return i
}
