package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Renew announces a submission by a restarted submitter, on an intent that existed already, as
// Intend returned it. The intent is OPEN again, also where it was ABANDONED, and is waited for as
// long as a new one, so that the job of this submission is found [G6]. Its job kind and metadata
// stay.
//
// Of several submitters that restart at once one renews the intent; every other gets ErrConflict,
// and must not submit. ErrConflict, too, where the intent was bound, given up or withdrawn
// meanwhile, or does not wait. Other errors: as Ingest, and the intent may have been renewed.
func (l *Ledger) Renew(ctx context.Context, intent Intent) (Intent, error) {
	var renewed Intent
	nonce := l.nonce()
	what := fmt.Sprintf("renewing the intent %q", intent.CorrelationID)
	changed := false
	err := l.decide(ctx, what, func(int) error {
		snapshot, err := l.store.Get(ctx, intentPath(intent.CorrelationID))
		if err != nil {
			return err
		}
		doc := snapshot.Documents[0]
		found, err := readIntent(doc)
		if err != nil {
			return err
		}
		if found.Writer == nonce && found.State == IntentOpen { // our own commit, whose answer was lost
			renewed = found
			return nil
		}
		// One that was withdrawn and recorded again has the version of the old one, but another
		// writer.
		changed = found.Version != intent.Version || found.Writer != intent.Writer || !found.Waiting()
		if changed {
			return nil
		}
		found.State, found.Writer = IntentOpen, nonce
		found.RenewedAt, found.AbandonedAt = operation.Instant(snapshot.ReadTime), time.Time{}
		write := l.writeIntent(doc, found, snapshot.ReadTime)
		renewed = write.Data.(Intent)
		return l.commit(ctx, write)
	})
	if err == nil && changed {
		err = fmt.Errorf("%s: %w", what, ErrConflict)
	}
	if err != nil {
		return Intent{}, err
	}
	return renewed, nil
}
