package ledger

import (
	"context"
	"fmt"

	"github.com/opledger/opledger/shared/operation"
)

// An Unverified is what the ledger knows about an unverified delivery: one that only a look-up in
// Gemini can confirm.
type Unverified struct {
	// Name is the operation that an event with the delivery's name and correlation id would change
	// [K6], as a name for the API [K5].
	Name operation.Name
	// Record is the operation's; the zero Record where there is none.
	Record operation.Record
	// Disputed is the operation that its submitter registered with the correlation id, where the
	// name is another operation's; as in Receipt.
	Disputed operation.Key
	// Waiting: an intent waits under the correlation id, and the operation is not registered [G6].
	Waiting bool
	// Duplicate: the delivery was ingested before [W4].
	Duplicate bool
}

// ReadUnverified returns what the ledger knows of an unverified delivery's operation, as Ingest
// would find it, and writes nothing. The error is the store's; the same call may succeed later.
func (l operationsReader) ReadUnverified(
	ctx context.Context, name operation.Name, correlationID, deliveryID string,
) (Unverified, error) {
	paths := []Path{OperationPath(name.Key), deliveryPath(name.Key, operation.Webhook, deliveryID)}
	if correlationID != "" {
		paths = append(paths, intentPath(correlationID))
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return Unverified{}, fmt.Errorf("reading the operation of an unverified delivery about %s: %w", name.Key, err)
	}
	rec, err := l.readRecord(snapshot.Documents[0])
	if err != nil {
		return Unverified{}, err
	}
	found := Unverified{Name: name, Record: rec}
	if !rec.Registered && correlationID != "" {
		intent, err := readIntent(snapshot.Documents[2])
		if err != nil {
			return Unverified{}, err
		}
		if key := intent.elsewhere(name.Key); key != "" {
			return l.ReadUnverified(ctx, operation.Name{Key: key, Resource: string(key)}, "", deliveryID)
		}
		found.Disputed, found.Waiting = intent.registered(name.Key), intent.Waiting()
	}
	if rec.Name != "" {
		found.Name.Resource = rec.Name
	}
	found.Duplicate, _, err = deduplicate(snapshot.Documents[1], rec)
	return found, err
}
