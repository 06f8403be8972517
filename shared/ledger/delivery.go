package ledger

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Delivery is the trace of one event that reached the ledger: when it arrived, what it said, the
// decision and its reason. It is also what makes ingesting idempotent: the same delivery again
// finds it [W4].
type Delivery struct {
	Schema     int              `json:"schema" firestore:"schema"`
	ID         string           `json:"id" firestore:"id"`
	Source     operation.Source `json:"source" firestore:"source"`
	Type       string           `json:"type,omitempty" firestore:"type,omitempty"`
	Name       string           `json:"name" firestore:"name"` // the operation's name in the form it arrived
	State      operation.State  `json:"state" firestore:"state"`
	UpdateTime time.Time        `json:"updateTime,omitzero" firestore:"updateTime,omitempty"`
	ReceivedAt time.Time        `json:"receivedAt" firestore:"receivedAt"`
	Outcome    Outcome          `json:"outcome" firestore:"outcome"`
	Reason     operation.Reason `json:"reason" firestore:"reason"`
	// Writer is the call that wrote the document. A call whose answer was lost recognizes its own
	// write by it.
	Writer   string    `json:"writer" firestore:"writer"`
	ExpireAt time.Time `json:"expireAt" firestore:"expireAt"`
}

// deduplicate reports whether a delivery was ingested before, and by which call. A delivery older
// than the operation's record belongs to a former record that has expired, and does not count.
func deduplicate(doc Document, rec operation.Record) (duplicate bool, writer string, err error) {
	var seen Delivery
	if err := doc.Decode(&seen); err != nil {
		return false, "", broken(doc, err)
	}
	return doc.Exists() && !seen.ReceivedAt.Before(rec.CreatedAt), seen.Writer, nil
}

// of returns a delivery of a record: it counts as one [W4] where the clock stands behind what it was
// at the record's beginning.
func (d Delivery) of(rec operation.Record) Delivery {
	if rec.CreatedAt.After(d.ReceivedAt) {
		d.ReceivedAt = rec.CreatedAt
	}
	return d
}

func (l *Ledger) delivery(e operation.Event, r Receipt, nonce string, now time.Time) Delivery {
	return Delivery{
		Schema: operation.SchemaVersion, ID: printable(e.DeliveryID), Source: e.Source, Type: e.Type, Name: e.Resource,
		State: e.State, UpdateTime: operation.Instant(e.UpdateTime), ReceivedAt: now,
		Outcome: r.Outcome, Reason: r.Reason, Writer: nonce, ExpireAt: now.Add(l.settings.Retention),
	}
}
