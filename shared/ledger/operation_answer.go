package ledger

import (
	"context"

	"github.com/opledger/opledger/shared/operation"
)

// IngestAnswer ingests an event made from Gemini's answer about an operation that ClaimLookUp
// returned. Usually nothing has changed: the reducer drops the event against that record, and the
// store is not read, because the event would be dropped later, too [M2]. Any other event goes
// through Ingest [R2, M7]. Errors: as Ingest.
func (l Operations) IngestAnswer(ctx context.Context, d DueOperation, e operation.Event) (Receipt, error) {
	rec := d.Record
	reduced := operation.Reduce(rec, e, l.settings.Transitions)
	if reduced.Applied || reduced.Reason == operation.TerminalConflict {
		return l.Ingest(ctx, e)
	}
	return Receipt{
		Key: rec.Key, Outcome: Dropped, Reason: reduced.Reason, Registered: rec.Registered, State: rec.State,
	}, nil
}

// RecordAnswer is RecordCondition for an operation as ClaimLookUp returned it: where nothing else has
// changed the record since, nothing is read. Its "now" is the start of the pass.
func (l Operations) RecordAnswer(ctx context.Context, d DueOperation, condition Condition) (Recorded, error) {
	return l.retryCondition(ctx, d.Record.Key, condition, func(last *recording) error {
		return l.recordOn(ctx, d.doc, d.Record, condition, Snapshot{ReadTime: d.passStart, Leapt: d.leapt}, last)
	})
}
