package ledger

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// refusalsPath is the one document about the deliveries that the webhook refused.
const refusalsPath Path = PassesCollection + "/webhook"

// RefusalsFor is how long Gemini redelivers. A refusal that comes longer after the last one starts a new
// count.
const RefusalsFor = 24 * time.Hour

// Refusals count the deliveries that the webhook refused since it last accepted one [W1]. Only serve
// stores them: a deployed function does not. They hold nothing that a sender wrote.
type Refusals struct {
	Schema  int   `json:"schema" firestore:"schema"`
	Version int64 `json:"version" firestore:"version"`
	Count   int   `json:"count" firestore:"count"`
	// Reason is that of the last one, as the log has it: signature, no-secret …
	Reason  string    `json:"reason,omitempty" firestore:"reason,omitempty"`
	FirstAt time.Time `json:"firstAt,omitzero" firestore:"firstAt,omitempty"` // by the store's clock, as the others
	LastAt  time.Time `json:"lastAt,omitzero" firestore:"lastAt,omitempty"`
	// AcceptedAt is when a delivery was accepted after refusals. Until the next refusal no later one is
	// stored.
	AcceptedAt time.Time `json:"acceptedAt,omitzero" firestore:"acceptedAt,omitempty"`
}

// Refuse counts a refusal for a reason.
func (r *Refusals) Refuse(reason string, at time.Time) {
	r.Add(Refusals{Count: 1, Reason: reason, FirstAt: at, LastAt: at})
}

// Accept records an accepted delivery, which ends the count.
func (r *Refusals) Accept(at time.Time) { r.Add(Refusals{AcceptedAt: at}) }

// Add adds later counts, by the same clock.
func (r *Refusals) Add(later Refusals) {
	if !later.AcceptedAt.IsZero() {
		*r = Refusals{Schema: r.Schema, Version: r.Version, AcceptedAt: later.AcceptedAt}
	}
	if later.Count == 0 {
		return
	}
	if r.Count == 0 || later.FirstAt.Sub(r.LastAt) > RefusalsFor {
		r.Count, r.FirstAt = 0, later.FirstAt
	}
	r.Count += later.Count
	r.Reason, r.LastAt = later.Reason, later.LastAt
}

// AddRefusals adds the counts of a process since its last call: one read, and one write, unless neither
// counted nor the ledger has a refusal. now is the time by the clock of the counts. It returns the stored
// Refusals. The error is that of [Passes.Refusals].
func (l Passes) AddRefusals(ctx context.Context, counted Refusals, now time.Time) (stored Refusals, err error) {
	var later *Refusals // what is added, by the store's clock
	err = l.retry(ctx, "storing what the webhook refused", func(int) error {
		var doc Document
		var at time.Time
		if stored, doc, at, err = l.readRefusals(ctx); err != nil {
			return err
		}
		if later == nil {
			shifted := counted.shifted(at.Sub(now))
			later = &shifted
		} else if later.Count > 0 && stored.LastAt.Equal(later.LastAt) {
			return nil // the commit succeeded, and its answer was lost
		}
		if later.Count == 0 && stored.Count == 0 {
			return nil
		}
		stored.Add(*later)
		stored.Schema, stored.Version = max(stored.Schema, operation.SchemaVersion), stored.Version+1
		return l.commit(ctx, Write{Path: refusalsPath, Token: doc.Token, Data: stored})
	})
	return stored, err
}

// shifted returns r with its times moved by ahead, to another clock.
func (r Refusals) shifted(ahead time.Duration) Refusals {
	for _, at := range []*time.Time{&r.FirstAt, &r.LastAt, &r.AcceptedAt} {
		if !at.IsZero() {
			*at = operation.Instant(at.Add(ahead))
		}
	}
	return r
}

// Refusals returns the stored count: one document read; zero if no process has stored one. The error is a
// [Broken] if the document cannot be read, else the store's.
func (l passesReader) Refusals(ctx context.Context) (Refusals, error) {
	stored, _, _, err := l.readRefusals(ctx)
	return stored, err
}

func (l *protocol) readRefusals(ctx context.Context) (Refusals, Document, time.Time, error) {
	return readOne[Refusals](ctx, l.store, refusalsPath, "what the webhook refused")
}
