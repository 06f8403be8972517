package effects

import (
	"context"
	"log/slog"
	"os"

	"github.com/opledger/opledger/scripts/examples/go/invoice"
	"github.com/opledger/opledger/shared/effect"
)

// Custom is functions/effects/custom.go with a handler in it.
func Custom(ctx context.Context, log *slog.Logger) (map[string]effect.Handler, error) {
	invoices, err := invoice.Open(ctx, os.Getenv("INVOICES"), log)
	if err != nil {
		return nil, err
	}
	return map[string]effect.Handler{"invoice": invoices}, nil
}
