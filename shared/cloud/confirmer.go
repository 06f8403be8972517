package cloud

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
)

// Confirmer returns what confirms unverified deliveries at Gemini. It reads the API key and
// connects when the first of them arrives.
func Confirmer(l *ledger.Ledger, settings config.Gemini) *confirm.Confirmer {
	connect := func(ctx context.Context) (*lookup.Client, error) { return Client(ctx, settings, lookup.NewClient) }
	return confirm.New(confirm.Options{Ledger: l, Gemini: connect, Now: time.Now})
}
