package results

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	gcs "google.golang.org/api/storage/v1"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/storage"
)

// ObjectOptions are what Object works with.
type ObjectOptions struct {
	// Bucket is gs://BUCKET, or gs://BUCKET/PREFIX for objects whose names begin so.
	Bucket  string
	Buckets *storage.Buckets
	// Results fetches the items. If it is nil, every attempt fails with [items.ErrNoAPIKey].
	Results *results.Client
	Log     *slog.Logger
	// Now is for Retry-After headers that hold a time.
	Now func() time.Time
}

const (
	ndjson = "application/x-ndjson"

	operationMetadata = "opledger-operation"
	effectMetadata    = "opledger-effect"
	keyMetadata       = "opledger-idempotency-key"
	fenceMetadata     = "opledger-fence"
	itemsMetadata     = "opledger-items"
)

// Object returns a handler that writes a batch's whole result to Cloud Storage as one object
// of JSON Lines, an item a line in the order of the result, streamed as it is downloaded. The
// object is PREFIX/batches/ID/EFFECT.jsonl.
//
// The object is created and never overwritten (generation precondition 0). It exists only whole:
// Cloud Storage makes it visible with the last byte, and compares its checksum. An attempt may find
// the object of an earlier attempt whose outcome did not reach the ledger. It compares its
// idempotency key, size and checksum with its own: the same is success. Any other object is not
// touched, and the effect is DEAD. A rerun writes an object of its own.
//
// So there is at most one object, written once. If it is deleted before the outcome is recorded, it
// is written again. One attempt must reach the end of the result: the next one starts from the
// beginning.
//
// A missing bucket or permission is a mistake in the deployment, which the operator fixes; such an
// attempt is retried with back-off, for hours. A result that cannot be fetched fails as in [items.Each]. One
// with fewer items than the batch is read twice. If it is the same both times it is written, and the
// effect is DEAD. An item without a key has none in its line.
// The error of Object is about Bucket.
func Object(o ObjectOptions) (effect.Handler, error) {
	to, err := storage.ParseLocation(o.Bucket)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		w := objectWriter{ObjectOptions: o, to: to, task: task, name: to.Prefix + objectName(task.Operation, task.Effect)}
		return nil, w.perform(ctx)
	}), nil
}

// An objectWriter is one attempt at one object.
type objectWriter struct {
	ObjectOptions
	to   storage.Location
	task effect.Task
	name string // prefix and all
}

func (w *objectWriter) perform(ctx context.Context) error {
	if w.Results == nil {
		return items.ErrNoAPIKey
	}
	lines := &resultLines{client: w.Results}
	if err := json.Unmarshal(w.task.Payload, &lines.completion); err != nil {
		return effect.Permanent(fmt.Errorf("reading the payload of the effect: %w", err))
	}
	within, cancel := items.WindowOf(ctx)
	defer cancel()
	if err := lines.open(within.Context); err != nil { // first, so that a lost result makes no object
		return items.Unfetched(err)
	}
	defer lines.close()
	err := w.write(within.Context, lines)
	if err != nil && within.Over() && ctx.Err() == nil {
		return fmt.Errorf("the time ended after %d items of the result, and an object is written in one attempt: %w",
			lines.next, err)
	}
	if missing := lines.missing; err == nil && missing > 0 {
		w.Log.ErrorContext(ctx, "the result has fewer items than the batch", "event", "alert", "reason", "items-failed",
			"operation", w.task.Operation, "effect", w.task.Effect, "done", lines.next, "total", lines.next+missing)
		return effect.Permanent(fmt.Errorf("%d missing: the result was read twice, and %s has the other %d; submit what is "+
			"missing as a new batch", missing, w.to.URL(w.name), lines.next))
	}
	return err
}

// write creates the object, or accepts the one that is there.
func (w *objectWriter) write(ctx context.Context, lines *resultLines) error {
	present, err := w.Buckets.Insert(ctx, w.to.Bucket, w.object(lines.completion), lines.from(ctx))
	if failure := lines.failure(); failure != nil {
		return items.Unfetched(failure)
	}
	found := false
	// 403 is also the answer for an object that exists and may not be deleted.
	if status := storage.StatusOf(err); status == http.StatusPreconditionFailed || status == http.StatusForbidden {
		if present, err = w.present(ctx, err); err != nil {
			return err
		}
		found = true
		if _, err := io.Copy(io.Discard, lines.from(ctx)); err != nil { // the checksum is of all bytes
			return items.Unfetched(err)
		}
	}
	if err != nil {
		return w.refused(err)
	}
	if int64(present.Size) != lines.size || present.Crc32c != lines.crc32c() {
		err := fmt.Errorf("%s holds other bytes than the result (%d bytes, crc32c %s; not %d, %s); "+
			"delete it, and replay the effect",
			w.to.URL(w.name), present.Size, present.Crc32c, lines.size, lines.crc32c())
		if found {
			err = effect.Permanent(err)
		}
		return err
	}
	w.Log.InfoContext(ctx, "a result is in Cloud Storage", "operation", w.task.Operation, "effect", w.task.Effect,
		"object", w.to.URL(w.name), "generation", present.Generation, "found", found,
		"items", lines.next, "failed", lines.failed, "bytes", lines.size)
	return nil
}

// object returns the description of the object.
func (w *objectWriter) object(completion ledger.Payload) *gcs.Object {
	metadata := map[string]string{
		operationMetadata: effect.Bounded(string(w.task.Operation)), effectMetadata: w.task.Effect,
		keyMetadata: effect.Bounded(w.task.IdempotencyKey), fenceMetadata: strconv.FormatInt(w.task.Fence, 10),
	}
	if counts := completion.Result.Counts; counts != nil {
		metadata[itemsMetadata] = strconv.FormatInt(counts.Total, 10)
	}
	return &gcs.Object{Name: w.name, ContentType: ndjson, Metadata: metadata}
}

// present returns the object that kept this attempt from creating it, if an earlier attempt wrote
// it. It is queried only after Cloud Storage has refused to create it [S8].
func (w *objectWriter) present(ctx context.Context, refusal error) (*gcs.Object, error) {
	present, err := w.Buckets.Get(ctx, w.to.Bucket, w.name)
	if err != nil {
		return nil, fmt.Errorf("%w; %w", w.refused(refusal), w.refused(err))
	}
	if key := present.Metadata[keyMetadata]; key != effect.Bounded(w.task.IdempotencyKey) {
		return nil, effect.Permanent(fmt.Errorf("%s exists and was not written by this effect (%s: %q): nothing is "+
			"overwritten; move or delete it, and replay the effect", w.to.URL(w.name), keyMetadata, key))
	}
	return present, nil
}
