package local

import (
	"context"
	"errors"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// TestRunRefusesReliableMessages: a run that could lose and repeat no message is refused, before
// its functions are served.
func TestRunRefusesReliableMessages(t *testing.T) {
	t.Parallel()
	serve := func(context.Context) error {
		t.Error("it is served")
		return nil
	}
	_, err := Run(t.Context(), Options{
		Jobs:       Jobs{Storage: t.TempDir()},
		Operations: 1, Faults: "none", Speed: 100, View: Silent{}, Functions: "http://127.0.0.1:1",
		Make: func(context.Context, Deployment) (*ledger.Ledger, func(context.Context) error, error) {
			return nil, serve, nil
		},
	})
	if !errors.Is(err, errReliable) {
		t.Error(err)
	}
}
