package effect_test

import (
	"context"
	"errors"
	"testing"

	"github.com/opledger/opledger/shared/effect"
)

// TestStopping: without a process that can be told to stop, nothing ever says so.
func TestStopping(t *testing.T) {
	t.Parallel()
	told, stop := context.WithCancelCause(t.Context())
	within := effect.WithStop(t.Context(), told)
	if effect.Stopping(t.Context()).Done() != nil || effect.Stopping(within).Err() != nil {
		t.Error("it stops")
	}
	stop(errors.New("SIGTERM"))
	if effect.Stopping(within).Err() == nil || within.Err() != nil {
		t.Error("it does not stop, or ends what is in progress")
	}
}
