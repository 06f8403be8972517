package ledger

import (
	"context"
	"fmt"
)

// Withdraw deletes an OPEN or ABANDONED intent, for a submitter that knows that nothing was
// submitted. The operation is no longer searched for, and the id is free at once [G6]. It reports
// whether the intent is gone. False: there was none, it is SEEN or BOUND, so an operation has its
// id, or another submitter renewed it meanwhile.
//
// An operation that shows up with the id afterwards is unregistered [W5]. Errors: as Ingest.
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
			// Versions only grow, so a lower one is of an intent recorded after this one was
			// deleted.
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
		if err := l.commit(ctx, Write{Path: doc.Path, Token: doc.Token}); err != nil {
			return err
		}
		withdrawn = true
		return nil
	})
	return withdrawn && err == nil, err
}
