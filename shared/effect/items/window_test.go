package items_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/itemworld"
)

// TestTimeOver: a run that must stop hands the rest on and counts no attempt. One that finished
// nothing counts [S4].
func TestTimeOver(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(400)).End()
	c := itemworld.NewTally()
	ctx, cancel := context.WithCancel(t.Context())
	report := w.Run(ctx, c.That(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 250 {
			cancel()
			return nil, ctx.Err()
		}
		return nil, nil
	}), effect.Continued)
	if report.Again() || report.Cause != nil {
		t.Errorf("%+v", report)
	}
	e := w.Stands("PENDING done 250 failed 0 of 0")
	if want := w.Message(); e.Attempts != 0 || len(w.Outbox.Messages) != 1 || w.Outbox.Messages[0] != want {
		t.Errorf("attempts %d, sent %+v", e.Attempts, w.Outbox.Messages)
	}
	// The message cannot be sent: the effect is due, and the sweep sends another.
	w.Outbox.Err = itemworld.ErrTarget
	ctx, cancel = context.WithCancel(t.Context())
	if report := w.Run(ctx, c.That(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		switch at := task.Item.Index; {
		case at == 370:
			cancel()
		case at > 370: // it runs beside the one that ends the time
			<-ctx.Done()
		}
		return nil, nil
	}), effect.Continued); report.Again() || !errors.Is(report.Cause, itemworld.ErrTarget) {
		t.Errorf("%+v", report)
	}
	w.Read(ledger.EffectPath(w.Key, itemworld.Name), &e)
	if e.State != ledger.EffectPending || !e.DueAt.Equal(e.ClaimableAt) {
		t.Errorf("%s, due at %v, claimable at %v", e.State, e.DueAt, e.ClaimableAt)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := w.Runner(w.Store, c.That(itemworld.Succeeds)).Run(ctx, w.Message()); err == nil {
		t.Error("a claim without time: no error")
	}
	w.Run(t.Context(), c.That(itemworld.Succeeds), effect.Finished)
	w.Stands("DONE done 400 failed 0 of 400")
	if c.Times["review-249"] != 1 || c.Times["review-250"] != 2 {
		t.Errorf("%d %d", c.Times["review-249"], c.Times["review-250"])
	}
}

// An answer is a server without a network.
type answer string

func (a answer) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	_, err := w.WriteString(string(a))
	return w.Result(), err
}

// TestDeadline: a run ends early enough to record its outcomes and to hand on the rest before its
// caller's time ends. Shortly before, no item starts.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := `{"metadata":{"key":"last"},"response":2}`
		for i := range 999 {
			list = fmt.Sprintf(`{"metadata":{"key":"k-%d"},"response":1},`, i) + list
		}
		w := itemworld.NewWithin(t, answer(`{"response":{"inlinedResponses":{"inlinedResponses":[`+list+`]}}}`))
		w.Result = operation.Result{}
		w.End()
		w.Outbox.Err = itemworld.ErrTarget
		began := time.Now()
		var last atomic.Int64
		each := effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
			last.Store(int64(time.Since(began)))
			if task.Item.Index < 250 {
				time.Sleep(time.Second)
				return nil, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		report, err := w.Runner(w.Store, each).Run(ctx, w.Message())
		if err != nil || report.Outcome != effect.Continued || report.Again() || report.Cause == nil {
			t.Fatalf("%+v %v", report, err)
		}
		if took := time.Since(began); took > 50*time.Second || time.Duration(last.Load()) > 40*time.Second {
			t.Errorf("it took %v of a minute, and began the last item after %v", took, time.Duration(last.Load()))
		}
		if e := w.Stands("PENDING done 250 failed 0 of 0"); e.Attempts != 0 || e.Progress == nil || e.Progress.Done != 250 {
			t.Errorf("%+v", e)
		}
	})
}

// TestNothingDone: a run whose time ends before one item is finished is a failed attempt, so that
// it does not repeat for ever.
func TestNothingDone(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(10)).End()
	ctx, cancel := context.WithCancel(t.Context())
	w.Run(ctx, func(context.Context, effect.Task) ([]ledger.Write, error) {
		cancel()
		return nil, ctx.Err()
	}, effect.Failed)
	if e := w.Stands("PENDING done 0 failed 0 of 10"); e.Attempts != 1 {
		t.Errorf("%d attempts", e.Attempts)
	}
}
