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

	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
)

// ObjectOptions are what Object works with.
type ObjectOptions struct {
	// Bucket is gs://BUCKET, or gs://BUCKET/PREFIX for objects whose names begin so.
	Bucket  string
	Buckets *Buckets
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
	to, err := parseFolder(o.Bucket)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		w := objectWriter{ObjectOptions: o, to: to, task: task, name: to.object(task.Operation, task.Effect)}
		return nil, w.perform(ctx)
	}), nil
}

// An objectWriter is one attempt at one object.
type objectWriter struct {
	ObjectOptions
	to   folder
	task effect.Task
	name string
	sent *sentRequest
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
			"missing as a new batch", missing, w.to.url(w.name), lines.next))
	}
	return err
}

// write creates the object, or accepts the one that is there.
func (w *objectWriter) write(ctx context.Context, lines *resultLines) error {
	ctx, w.sent = watchSent(ctx)
	service, err := w.Buckets.connect(ctx)
	if err != nil {
		return err
	}
	// A ChunkTransferTimeout would also end the reading of the answer.
	present, err := service.Objects.Insert(w.to.bucket, w.object(lines.completion)).IfGenerationMatch(0).
		Media(lines.from(ctx), googleapi.ContentType(ndjson), googleapi.ChunkSize(w.Buckets.chunk),
			googleapi.EnableAutoChecksum()).
		Fields("generation", "size", "crc32c").Context(ctx).Do()
	if failure := lines.failure(); failure != nil {
		return items.Unfetched(failure)
	}
	found := false
	switch statusOf(err) {
	// 403 is also the answer for an object that exists and may not be deleted.
	case http.StatusPreconditionFailed, http.StatusForbidden:
		if present, err = w.present(ctx, service, err); err != nil {
			return err
		}
		found = true
		if _, err := io.Copy(io.Discard, lines.from(ctx)); err != nil { // the checksum is of all bytes
			return items.Unfetched(err)
		}
	}
	if err != nil {
		return w.refused("writing", err)
	}
	if int64(present.Size) != lines.size || present.Crc32c != lines.crc32c() {
		err := fmt.Errorf("%s holds other bytes than the result (%d bytes, crc32c %s; not %d, %s); "+
			"delete it, and replay the effect",
			w.to.url(w.name), present.Size, present.Crc32c, lines.size, lines.crc32c())
		if found {
			err = effect.Permanent(err)
		}
		return err
	}
	w.Log.InfoContext(ctx, "a result is in Cloud Storage", "operation", w.task.Operation, "effect", w.task.Effect,
		"object", w.to.url(w.name), "generation", present.Generation, "found", found,
		"items", lines.next, "failed", lines.failed, "bytes", lines.size)
	return nil
}

// object returns the description of the object.
func (w *objectWriter) object(completion ledger.Payload) *storage.Object {
	metadata := map[string]string{
		operationMetadata: effect.Bounded(string(w.task.Operation)), effectMetadata: w.task.Effect,
		keyMetadata: effect.Bounded(w.task.IdempotencyKey), fenceMetadata: strconv.FormatInt(w.task.Fence, 10),
	}
	if counts := completion.Result.Counts; counts != nil {
		metadata[itemsMetadata] = strconv.FormatInt(counts.Total, 10)
	}
	return &storage.Object{Name: w.name, ContentType: ndjson, Metadata: metadata}
}

// present returns the object that kept this attempt from creating it, if an earlier attempt wrote
// it. It is queried only after Cloud Storage has refused to create it [S8].
func (w *objectWriter) present(ctx context.Context, service *storage.Service, refusal error) (*storage.Object, error) {
	present, err := service.Objects.Get(w.to.bucket, w.name).
		Fields("generation", "size", "crc32c", "metadata").Context(ctx).Do()
	if err != nil {
		return nil, fmt.Errorf("%w; %w", w.refused("writing", refusal), w.refused("reading", err))
	}
	if key := present.Metadata[keyMetadata]; key != effect.Bounded(w.task.IdempotencyKey) {
		return nil, effect.Permanent(fmt.Errorf("%s exists and was not written by this effect (%s: %q): nothing is "+
			"overwritten; move or delete it, and replay the effect", w.to.url(w.name), keyMetadata, key))
	}
	return present, nil
}
