package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Renew says that a submitter which started again is about to submit on an intent that was there already, as Intend returned
// it. The intent is OPEN from now on, also where it was ABANDONED, and is waited for as long as a new one: so what this
// submission leaves behind is looked for, too [G6]. What it says of the job stays.
//
// Of several submitters that start again at once one renews the intent; every other gets ErrConflict, and must not submit.
// ErrConflict, too: it was bound, given up or withdrawn meanwhile, or waits for nothing. Other errors: as Ingest, and the intent
// may have been renewed.
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
		if found.Writer == nonce && found.State == IntentOpen { // the answer of our own commit was lost
			renewed = found
			return nil
		}
		// One that was withdrawn and recorded anew has the version of the old one, but another writer.
		changed = found.Version != intent.Version || found.Writer != intent.Writer || !found.Waiting()
		if changed {
			return nil
		}
		found.State, found.Writer = IntentOpen, nonce
		found.RenewedAt, found.AbandonedAt = operation.Instant(snapshot.ReadTime), time.Time{}
		write := l.writeIntent(doc, found, snapshot.ReadTime)
		renewed = write.Data.(Intent)
		return l.store.Commit(ctx, write)
	})
	if err == nil && changed {
		err = fmt.Errorf("%s: %w", what, ErrConflict)
	}
	if err != nil {
		return Intent{}, err
	}
	return renewed, nil
}

// Withdraw deletes an intent that is OPEN or ABANDONED, for a submitter that knows that nothing was submitted: nobody needs to
// look for it, and its id is free again at once [G6]. It reports whether the intent is gone; false: there was none, it is SEEN
// or BOUND, since an operation has its id, or another submitter renewed it meanwhile.
//
// An operation that shows itself with the id afterwards is one that nobody recorded [W5]. Errors: as Ingest.
func (l *Ledger) Withdraw(ctx context.Context, correlationID string) (bool, error) {
	var first Document
	var version int64
	withdrawn := false
	err := l.decide(ctx, fmt.Sprintf("withdrawing the intent %q", correlationID), func(int) error {
		doc, intent, err := l.intent(ctx, correlationID)
		if err != nil {
			return err
		}
		if first.Exists() && doc.Token != first.Token {
			// Versions only count up, so a lower one is of an intent that was recorded after this one was deleted.
			if withdrawn = !doc.Exists() || intent.Version <= version; withdrawn || intent.State == IntentOpen {
				return nil
			}
		}
		if !intent.Waiting() {
			return nil
		}
		if !first.Exists() {
			first, version = doc, intent.Version
		}
		if err := l.store.Commit(ctx, Write{Path: doc.Path, Token: doc.Token}); err != nil {
			return err
		}
		withdrawn = true
		return nil
	})
	return withdrawn && err == nil, err
}
