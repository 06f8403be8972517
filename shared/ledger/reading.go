package ledger

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Reading is the half of a Ledger that changes nothing: its methods are those of the interface that
// it embeds. No type assertion leads from it to the other half, so that a package which is handed a
// Reading cannot write.
type Reading struct{ readingHalf }

// Reading returns the half of the ledger that changes nothing.
func (l *Ledger) Reading() Reading { return Reading{l} }

type readingHalf interface {
	Now(context.Context) (time.Time, error)
	LastPass(context.Context) (Pass, time.Time, error)
	Refusals(context.Context) (Refusals, error)
	Ends(context.Context, Cursor, int) (Page[operation.Record], error)
	Record(context.Context, operation.Key) (operation.Record, error)
	Find(context.Context, operation.Name) ([]operation.Key, error)
	Show(context.Context, operation.Key) (Story, error)
	List(context.Context, Filter) (Page[operation.Record], error)
	CountOperations(context.Context, Filter) (Total, error)
	OpenEffects(context.Context, Cursor, int) (Page[DueEffect], error)
	CountOpenEffects(context.Context) (Total, error)
	CountRunningEffects(context.Context) (Total, error)
	FailingEffects(ctx context.Context, before time.Time, after Cursor, limit int) (Page[Effect], error)
	CountFailingEffects(ctx context.Context, before time.Time) (Total, error)
	DeadEffects(context.Context, []operation.Record) ([]Effect, []Broken, error)
	FailedItems(context.Context, operation.Key, string, Cursor, int) (Page[Item], error)
	Intent(ctx context.Context, correlationID string) (Intent, error)
	IntentOf(context.Context, operation.Record) (Intent, error)
	WaitingIntents(context.Context, Cursor, int) (Page[DueIntent], error)
	CountWaitingIntents(context.Context) (Total, error)
	ListQuarantined(context.Context, QuarantineFilter) (Page[Quarantined], error)
	CountQuarantined(context.Context, QuarantineFilter) (Total, error)
	ReadQuarantined(ctx context.Context, deliveryID string) (Quarantined, []byte, error)
}
