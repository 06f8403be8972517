package steps

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// paced returns a wait that is as much shorter than by default as the ledger's interval is: in a rehearsal
// every duration is divided. It never lengthens one.
func (o Options) paced(wait time.Duration) time.Duration {
	usual := ledger.DefaultSettings().Interval
	return min(wait, time.Duration(float64(wait)*float64(o.Ledger.Settings().Interval)/float64(usual)))
}
