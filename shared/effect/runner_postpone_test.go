package effect_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// TestPostponed: an effect that cannot be run now counts neither an attempt nor a failure, however often that
// is, and is claimed again only after its wait [S4].
func TestPostponed(t *testing.T) {
	inWorld(t, func(w *world) {
		reason := errors.New("the quota is used up")
		busy := w.runner(failsWith(fmt.Errorf("starting: %w", effect.Postpone(reason, time.Minute))))
		for range 2 * w.settings.MaxAttempts {
			report := w.run(busy, effect.Postponed)
			if report.RetryAfter != time.Minute || !errors.Is(report.Cause, reason) {
				w.Errorf("the report is %+v", report)
			}
			w.run(busy, effect.Early)
			time.Sleep(time.Minute) // of the bubble
		}
		e, _ := w.effect()
		if e.State != ledger.EffectPending || e.Attempts != 0 || e.Failing != nil {
			w.Errorf("it is %s after %d attempts, failing %+v", e.State, e.Attempts, e.Failing)
		}
		w.run(w.runner(succeeds), effect.Finished)
	})
}

// TestPostponedPermanently: what no attempt can avoid is not put off.
func TestPostponedPermanently(t *testing.T) {
	inWorld(t, func(w *world) {
		w.run(w.runner(failsWith(effect.Postpone(effect.Permanent(errors.New("it is gone")), time.Minute))), effect.Died)
	})
}
