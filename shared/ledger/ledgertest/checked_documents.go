package ledgertest

import (
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// checkRecord finds what must not be in any record that the ledger writes.
func checkRecord(rec operation.Record) error {
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	must(!rec.Registered || rec.Closed() || rec.ExpireAt.IsZero(), "it expires at %v although something is open [L3]", rec.ExpireAt)
	must(rec.Abandoned == nil || rec.DueAt.IsZero(), "it is due at %v although it was abandoned [R4]", rec.DueAt)
	must(rec.Abandoned == nil || rec.Abandoned.Why != "" && !rec.Abandoned.At.IsZero(), "nobody knows why or when it was abandoned")
	must((rec.Trouble == "") == rec.TroubleSince.IsZero(), "trouble %q since %v", rec.Trouble, rec.TroubleSince)
	must(rec.MissingSince.IsZero() || rec.Trouble != "", "it is missing and in no trouble")
	must(rec.MissingAlertedAt.IsZero() || !rec.MissingSince.IsZero(), "it was said to be missing and is not")
	return errors.Join(errs...)
}

// checkEffect finds what must not be in any effect that the ledger writes.
func checkEffect(effect ledger.Effect) error {
	var errs []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	dead := effect.State == ledger.EffectDead
	waived := dead && effect.Abandoned != nil
	must(effect.IdempotencyKey == operation.IdempotencyKey(effect.Operation, effect.Name), "its key is %s [K4]", effect.IdempotencyKey)
	must(effect.Abandoned == nil || dead, "it is %s and waived", effect.State)
	closed := effect.State == ledger.EffectDone || waived
	must(closed == !effect.ExpireAt.IsZero(), "it is %s, waived %v, and expires at %v [L3]", effect.State, waived, effect.ExpireAt)
	must((closed || dead) == effect.DueAt.IsZero(), "it is %s and due at %v [R5]", effect.State, effect.DueAt)
	return errors.Join(errs...)
}
