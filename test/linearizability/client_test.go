package linearizability

import (
	"errors"
	"fmt"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// TestAnswer: a call's error is unknown only where the ledger cannot say whether the writes were made.
// One that says they were not is known, and any other is an error that no call may return.
func TestAnswer(t *testing.T) {
	t.Parallel()
	const unknown, refused, failed, known = "unknown", "refused", "failed", "known"
	for name, tt := range map[string]struct {
		call   string
		err    error
		misled bool
		want   string
	}{
		"a store that is down":               {ingest, fmt.Errorf("ingesting: %w", ledger.ErrUnavailable), false, unknown},
		"contention":                         {ingest, fmt.Errorf("ingesting: %w", ledger.ErrContention), false, refused},
		"contention after a lost answer":     {ingest, ledger.ErrContention, true, unknown},
		"a refused document":                 {register, ledger.ErrTooBig, false, failed},
		"a refused document, lost answer":    {register, ledger.ErrInvalid, true, failed},
		"a conflict that is not tried again": {claim, ledger.ErrConflict, false, failed},
		"an error of no name":                {finish, errors.New("broken"), false, failed},
		"no error":                           {register, nil, false, known},
		"no error after a lost answer":       {register, nil, true, unknown},
		"a proof after a lost answer":        {ingest, nil, true, known},
	} {
		out := answer(input{Call: tt.call}, output{State: "RUNNING"}, tt.err, tt.misled)
		is := known
		switch {
		case out.Unknown != "":
			is = unknown
		case out.Refused:
			is = refused
		case out.Failed != "":
			is = failed
		}
		if is != tt.want || (is == known) != (out.State == "RUNNING") {
			t.Errorf("%s is %s, want %s: %+v", name, is, tt.want, out)
		}
	}
}
