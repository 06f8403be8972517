package canary

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

const batchKey operation.Key = "batches/real"

// hooks are Gemini's webhooks: one, which is enabled for so many questions.
type hooks struct{ enabled int }

func (h *hooks) Find(context.Context, string) ([]webhooks.Webhook, error) {
	if h.enabled--; h.enabled < 0 {
		return []webhooks.Webhook{{ID: "1", State: webhooks.DisabledByFailures}}, nil
	}
	return []webhooks.Webhook{{ID: "1", State: webhooks.Enabled}}, nil
}

func (h *hooks) Ping(context.Context, string) error { return errors.New("no ping was wanted") }

// spends lets a batch be submitted, which is registered, and then does what next does. It returns
// the names of the batches that were deleted at Gemini.
func (w *world) spends(h *hooks, next func()) *[]string {
	deleted := &[]string{}
	w.Spend = &Spend{
		Webhooks: h, Within: time.Hour,
		Submit: func(ctx context.Context, id string, _ []string) (string, error) {
			_, err := w.Ledger.Operations.Register(ctx, ledger.Registration{
				Name:       operation.Name{Key: batchKey, Resource: string(batchKey)},
				Submission: operation.Submission{CorrelationID: id, JobKind: JobKind},
			})
			next()
			return string(batchKey), err
		},
		Delete: func(_ context.Context, name string) error {
			*deleted = append(*deleted, name)
			return nil
		},
	}
	return deleted
}

// ends ends the batch.
func (w *world) ends(from operation.Source, state operation.State) {
	w.Helper()
	if _, err := w.Ledger.Operations.Ingest(w.Context(), operation.Event{
		Name: operation.Name{Key: batchKey, Resource: string(batchKey)}, DeliveryID: "end", Source: from, State: state,
		UpdateTime: w.clock(),
	}); err != nil {
		w.Error(err)
	}
}

// TestBatchCut: each way in which a batch does not arrive is named, and whatever happens the batch
// is deleted at Gemini and in the ledger.
func TestBatchCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about    string
		enabled  int // for so many questions
		next     func(*world)
		says     string
		lookedAt string
	}{
		{"it does not end", 9, func(*world) {}, "the batch had not ended after 1h0m0s: it is PENDING", "--within"},
		{"its event does not come", 9, func(w *world) { w.ends(operation.Reconcile, operation.Succeeded) },
			"Gemini's event did not come within 2m0s of the completion, which reconcile found", "opledger webhook check"},
		{"the webhook is disabled meanwhile", 1, func(w *world) { w.ends(operation.Reconcile, operation.Succeeded) },
			"the webhook at Gemini is disabled due to failed deliveries", "webhook-disabled.md"},
		{"it fails", 9, func(w *world) { w.ends(operation.Webhook, operation.Failed) },
			"the batch ended as FAILED", "opledger show batches/real"},
		{"its effect is not done", 9, func(w *world) { w.ends(operation.Webhook, operation.Succeeded) },
			"the effect note is not done but PENDING", "opledger show batches/real"},
	} {
		w := newWorld(t)
		deleted := w.spends(&hooks{c.enabled}, func() { c.next(w) })
		made := w.fails(w.batch)
		if !strings.Contains(made.Error, c.says) || !strings.Contains(made.LookAt, c.lookedAt) {
			t.Errorf("%s: %+v", c.about, made)
		}
		w.batchGone(c.about, *deleted)
	}
}

// batchGone checks that the batch was deleted at Gemini, and is not in the ledger.
func (w *world) batchGone(about string, deleted []string) {
	w.Helper()
	if !slices.Equal(deleted, []string{string(batchKey)}) {
		w.Errorf("%s: deleted at Gemini: %q", about, deleted)
	}
	if _, err := w.Ledger.Operations.Show(w.Context(), batchKey); !errors.Is(err, ledger.ErrNotFound) {
		w.Errorf("%s: left in the ledger: %v", about, err)
	}
	if _, err := w.Ledger.Intents.Read(w.Context(), w.key.ID()); !errors.Is(err, ledger.ErrNoIntent) {
		w.Errorf("%s: its intent is left: %v", about, err)
	}
}

// TestBatchInterrupted: after ctrl-C nothing is left either.
func TestBatchInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	deleted := w.spends(&hooks{9}, cancel)
	if made := w.make(ctx, step{"batch", w.batch}); made.Error != "interrupted" {
		t.Errorf("%+v", made)
	}
	w.batchGone("interrupted", *deleted)

	w = newWorld(t)
	ctx, cancel = context.WithCancel(t.Context())
	w.spends(&hooks{9}, cancel)
	w.Spend.Delete = func(context.Context, string) error { return errors.New("Gemini is away") }
	made := w.make(ctx, step{"batch", w.batch})
	if made.Error != "interrupted; the batch was not deleted at Gemini: Gemini is away" ||
		made.LookAt != "delete batches/real at Gemini" {
		t.Errorf("%+v", made)
	}
}

// TestBatchSubmissionInterrupted: ctrl-C during the submission waits for the name of the batch, so
// that it is removed.
func TestBatchSubmissionInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	deleted := w.spends(&hooks{9}, func() {})
	submit := w.Spend.Submit
	w.Spend.Submit = func(ctx context.Context, id string, uris []string) (string, error) {
		cancel()
		if err := ctx.Err(); err != nil {
			return "", err
		}
		return submit(ctx, id, uris)
	}
	if made := w.make(ctx, step{"batch", w.batch}); made.Error != "interrupted" {
		t.Errorf("%+v", made)
	}
	w.batchGone("interrupted", *deleted)
}
