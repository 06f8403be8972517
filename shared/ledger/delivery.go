package ledger

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Delivery records one event: when it arrived, what it reported, the decision and its reason. It
// makes ingesting idempotent: a redelivery finds it [W4].
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
	Writer string `json:"writer" firestore:"writer"`
	// Incarnation is that of the record at the time. A record that expired and was created again has
	// another.
	Incarnation string    `json:"incarnation,omitempty" firestore:"incarnation,omitempty"`
	ExpireAt    time.Time `json:"expireAt" firestore:"expireAt"`
}

// deduplicate reports whether a delivery was ingested before, and by which call. One of a former record,
// which has expired, does not count.
func deduplicate(doc Document, rec operation.Record) (duplicate bool, writer string, err error) {
	var seen Delivery
	if err := doc.Decode(&seen); err != nil {
		return false, "", broken(doc, err)
	}
	return doc.Exists() && seen.of(rec), seen.Writer, nil
}

// of reports whether a delivery is one of this record. Where an older revision wrote either of them, a
// delivery of a former record is older than this one, unless the store's clock was ahead.
func (d Delivery) of(rec operation.Record) bool {
	if d.Incarnation != "" && rec.Incarnation != "" {
		return d.Incarnation == rec.Incarnation
	}
	return !d.ReceivedAt.Before(rec.CreatedAt)
}

func (l *protocol) delivery(e operation.Event, r Receipt, of operation.Record, nonce string, now time.Time) Delivery {
	return Delivery{
		Schema: operation.SchemaVersion, ID: printable(e.DeliveryID), Source: e.Source, Type: e.Type, Name: e.Resource,
		State: e.State, UpdateTime: operation.Instant(e.UpdateTime), ReceivedAt: now, Incarnation: of.Incarnation,
		Outcome: r.Outcome, Reason: r.Reason, Writer: nonce, ExpireAt: now.Add(l.settings.Retention),
	}
}
