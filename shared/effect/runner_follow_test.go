package effect_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// A follower is a handler that acts once its effect is done.
type follower struct {
	effect.HandlerFunc
	follow func(ctx context.Context, lease ledger.Lease) error
}

func (f follower) Follow(ctx context.Context, lease ledger.Lease) error { return f.follow(ctx, lease) }

func (w *world) follower(perform effect.HandlerFunc, follow func(context.Context, ledger.Lease) error) *effect.Runner {
	return effect.NewRunner(w.over(w.store), map[string]effect.Handler{name: follower{perform, follow}})
}

// TestFollow: a Follower acts behind the commit that its effect is done, also where the caller has left.
func TestFollow(t *testing.T) {
	inWorld(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx)
		failed := errors.New("the job cannot be advanced")
		var followed []ledger.Lease
		runner := w.follower(func(context.Context, effect.Task) ([]ledger.Write, error) {
			cancel()
			return nil, nil
		}, func(ctx context.Context, lease ledger.Lease) error {
			e, _ := w.effect()
			if e.State != ledger.EffectDone || ctx.Err() != nil {
				w.Errorf("the effect is %s, the context %v", e.State, ctx.Err())
			}
			followed = append(followed, lease)
			return failed
		})
		report, err := runner.Run(ctx, message)
		if err != nil || report.Outcome != effect.Finished || !errors.Is(report.FollowErr, failed) {
			w.Errorf("%+v, %v", report, err)
		}
		if len(followed) != 1 || followed[0].Operation != key || followed[0].Effect != name {
			w.Errorf("followed %+v", followed)
		}
		w.run(runner, effect.Skipped)
		if len(followed) != 1 {
			w.Errorf("a message about what is done was followed, too")
		}
	})
}

// TestFollowNothing: an effect that is not done is not followed.
func TestFollowNothing(t *testing.T) {
	for name, err := range map[string]error{
		"failed": errors.New("no"), "postponed": effect.Postpone(errors.New("not now"), time.Minute),
		"continued": effect.ErrContinue, "dead": effect.Permanent(errors.New("never")),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				runner := w.follower(failsWith(err), func(context.Context, ledger.Lease) error {
					w.Error("it was followed")
					return nil
				})
				if report, err := runner.Run(w.ctx, message); err != nil || report.FollowErr != nil {
					w.Errorf("%+v, %v", report, err)
				}
			})
		})
	}
}
