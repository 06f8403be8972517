package effect_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
)

// TestTimeOver: a run that must stop hands the rest on and counts no attempt. One that finished
// nothing counts [S4].
func TestTimeOver(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(400)).end()
	c := newTally()
	ctx, cancel := context.WithCancel(t.Context())
	report := w.run(ctx, c.that(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item.Index == 250 {
			cancel()
			return nil, ctx.Err()
		}
		return nil, nil
	}), effect.Continued)
	if report.Again() || report.Cause != nil {
		t.Errorf("%+v", report)
	}
	e := w.stands("PENDING done 250 failed 0 of 0")
	if want := w.message(); e.Attempts != 0 || len(w.outbox.messages) != 1 || w.outbox.messages[0] != want {
		t.Errorf("attempts %d, sent %+v", e.Attempts, w.outbox.messages)
	}
	// The message cannot be sent: the effect is due, and the sweep sends another.
	w.outbox.err = errTarget
	ctx, cancel = context.WithCancel(t.Context())
	if report := w.run(ctx, c.that(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		switch at := task.Item.Index; {
		case at == 370:
			cancel()
		case at > 370: // it runs beside the one that ends the time
			<-ctx.Done()
		}
		return nil, nil
	}), effect.Continued); report.Again() || !errors.Is(report.Cause, errTarget) {
		t.Errorf("%+v", report)
	}
	if w.read(ledger.EffectPath(w.key, name), &e); e.State != ledger.EffectPending || !e.DueAt.Equal(e.ClaimableAt) {
		t.Errorf("%s, due at %v, claimable at %v", e.State, e.DueAt, e.ClaimableAt)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := w.runner(w.store, c.that(succeeds)).Run(ctx, w.message()); err == nil {
		t.Error("a claim without time: no error")
	}
	w.run(t.Context(), c.that(succeeds), effect.Finished)
	w.stands("DONE done 400 failed 0 of 400")
	if c.times["review-249"] != 1 || c.times["review-250"] != 2 {
		t.Errorf("%d %d", c.times["review-249"], c.times["review-250"])
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
	inWorld(t, func(w *world) {
		list := `{"metadata":{"key":"last"},"response":2}`
		for i := range 999 {
			list = fmt.Sprintf(`{"metadata":{"key":"k-%d"},"response":1},`, i) + list
		}
		client, err := results.New(results.Options{APIKey: "key", HTTP: &http.Client{
			Transport: answer(`{"response":{"inlinedResponses":{"inlinedResponses":[` + list + `]}}}`),
		}})
		if err != nil {
			w.Fatal(err)
		}
		began := time.Now()
		var last atomic.Int64
		each := effect.Each(effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
			last.Store(int64(time.Since(began)))
			if task.Item.Index < 250 {
				time.Sleep(time.Second)
				return nil, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}), effect.EachOptions{Ledger: w.over(w.store), Results: client, Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		report, err := w.runner(each.Perform).Run(ctx, message)
		// there is no publisher
		if err != nil || report.Outcome != effect.Continued || report.Again() || report.Cause == nil {
			w.Fatalf("%+v %v", report, err)
		}
		if took := time.Since(began); took > 50*time.Second || time.Duration(last.Load()) > 40*time.Second {
			w.Errorf("it took %v of a minute, and began the last item after %v", took, time.Duration(last.Load()))
		}
		if e, _ := w.effect(); e.Attempts != 0 || e.Progress == nil || e.Progress.Done != 250 {
			w.Errorf("%+v", e)
		}
	})
}

// TestNothingDone: a run whose time ends before one item is finished is a failed attempt, so that
// it does not repeat for ever.
func TestNothingDone(t *testing.T) {
	t.Parallel()
	w := newItemsWorld(t, many(10)).end()
	ctx, cancel := context.WithCancel(t.Context())
	w.run(ctx, func(context.Context, effect.Task) ([]ledger.Write, error) {
		cancel()
		return nil, ctx.Err()
	}, effect.Failed)
	if e := w.stands("PENDING done 0 failed 0 of 10"); e.Attempts != 1 {
		t.Errorf("%d attempts", e.Attempts)
	}
}
