package effect

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

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/redact"
)

// ResultsObjectOptions are what ResultsObject works with.
type ResultsObjectOptions struct {
	// Bucket is gs://BUCKET, or gs://BUCKET/PREFIX for objects whose names begin so.
	Bucket  string
	Buckets *Buckets
	// Results fetches the items. Nil: nobody said with which API key, and every attempt fails with that.
	Results *results.Client
	Log     *slog.Logger
	// Now is for Retry-After headers that name a time.
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

// ResultsObject returns a handler that writes a batch's whole result to Cloud Storage as one object of JSON Lines, an item a line
// in the order of the result, streamed as it comes: the object PREFIX/batches/ID/EFFECT.jsonl.
//
// The object is created and never overwritten (generation precondition 0), and it is there only whole: Cloud Storage makes it
// visible with the last byte, whose checksum it was sent. An attempt that finds it there, written by an attempt before whose outcome
// did not reach the ledger, compares its idempotency key, size and checksum with its own: the same is success. Anything else
// there is not touched, and the effect is DEAD. A run anew writes an object of its own.
//
// So there is at most one object, written once, unless somebody deletes it before the outcome is recorded: then it is written again.
// One attempt must come to the end of the result: an attempt whose time is over begins anew.
//
// A bucket that is not there and a right that is missing are mistakes of a deployment, which somebody mends: they are tried again
// with back-off, for hours. The error of a result that cannot be fetched is as Each's. Errors: what is wrong with Bucket.
func ResultsObject(o ResultsObjectOptions) (Handler, error) {
	to, err := parseFolder(o.Bucket)
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return HandlerFunc(func(ctx context.Context, task Task) ([]ledger.Write, error) {
		w := objectWriter{ResultsObjectOptions: o, to: to, task: task, name: to.object(task.Operation, task.Effect)}
		return nil, w.perform(ctx)
	}), nil
}

// An objectWriter is one attempt at one object.
type objectWriter struct {
	ResultsObjectOptions
	to   folder
	task Task
	name string
	sent *redact.Exchange
}

func (w *objectWriter) perform(ctx context.Context) error {
	if w.Results == nil {
		return ErrNoAPIKey
	}
	lines := &resultLines{client: w.Results}
	if err := json.Unmarshal(w.task.Payload, &lines.completion); err != nil {
		return Permanent(fmt.Errorf("reading the payload of the effect: %w", err))
	}
	within, cancel := windowOf(ctx)
	defer cancel()
	if err := lines.open(within.ctx); err != nil { // first, so that a result that is lost makes no object
		return unfetched(err)
	}
	defer lines.close()
	err := w.write(within.ctx, lines)
	if err != nil && within.over() && ctx.Err() == nil {
		return fmt.Errorf("the time was over %d items into the result, and an object is written in one attempt: %w", lines.next, err)
	}
	if counts := lines.completion.Result.Counts; err == nil && counts != nil && lines.next < counts.Total {
		w.Log.ErrorContext(ctx, "the result has fewer items than the batch", "event", "alert", "reason", "items-failed",
			"operation", w.task.Operation, "effect", w.task.Effect, "done", lines.next, "total", counts.Total)
	}
	return err
}

// write creates the object, or finds that it is there.
func (w *objectWriter) write(ctx context.Context, lines *resultLines) error {
	ctx, w.sent = redact.Watch(ctx)
	service, err := w.Buckets.connect(ctx)
	if err != nil {
		return err
	}
	// No ChunkTransferTimeout: it would end the reading of the answer, too.
	present, err := service.Objects.Insert(w.to.bucket, w.object(lines.completion)).IfGenerationMatch(0).
		Media(lines.from(ctx), googleapi.ContentType(ndjson), googleapi.ChunkSize(w.Buckets.chunk), googleapi.EnableAutoChecksum()).
		Fields("generation", "size", "crc32c").Context(ctx).Do()
	if failure := lines.failure(); failure != nil {
		return unfetched(failure)
	}
	found := false
	switch statusOf(err) {
	case http.StatusPreconditionFailed, http.StatusForbidden: // the latter also of an object that is there, and that may not be deleted
		if present, err = w.present(ctx, service, err); err != nil {
			return err
		}
		found = true
		if _, err := io.Copy(io.Discard, lines.from(ctx)); err != nil { // what was not sent counts for the checksum
			return unfetched(err)
		}
	}
	if err != nil {
		return w.refused("writing", err)
	}
	if int64(present.Size) != lines.size || present.Crc32c != lines.crc32c() {
		err := fmt.Errorf("%s holds other bytes than the result (%d bytes, crc32c %s; not %d, %s); delete it, and replay the effect",
			w.to.url(w.name), present.Size, present.Crc32c, lines.size, lines.crc32c())
		if found {
			err = Permanent(err)
		}
		return err
	}
	w.Log.InfoContext(ctx, "a result is in Cloud Storage", "operation", w.task.Operation, "effect", w.task.Effect,
		"object", w.to.url(w.name), "generation", present.Generation, "found", found,
		"items", lines.next, "failed", lines.failed, "bytes", lines.size)
	return nil
}

// object is what is told of the object beside its content.
func (w *objectWriter) object(completion ledger.Payload) *storage.Object {
	metadata := map[string]string{
		operationMetadata: bounded(string(w.task.Operation)), effectMetadata: w.task.Effect,
		keyMetadata: bounded(w.task.IdempotencyKey), fenceMetadata: strconv.FormatInt(w.task.Fence, 10),
	}
	if counts := completion.Result.Counts; counts != nil {
		metadata[itemsMetadata] = strconv.FormatInt(counts.Total, 10)
	}
	return &storage.Object{Name: w.name, ContentType: ndjson, Metadata: metadata}
}

// present returns the object that kept this attempt from creating it, if an attempt before wrote it. It is asked for only now that
// Cloud Storage has refused to create it [S8].
func (w *objectWriter) present(ctx context.Context, service *storage.Service, refusal error) (*storage.Object, error) {
	present, err := service.Objects.Get(w.to.bucket, w.name).Fields("generation", "size", "crc32c", "metadata").Context(ctx).Do()
	if err != nil {
		return nil, fmt.Errorf("%w; %w", w.refused("writing", refusal), w.refused("looking at", err))
	}
	if key := present.Metadata[keyMetadata]; key != bounded(w.task.IdempotencyKey) {
		return nil, Permanent(fmt.Errorf("%s is there already and was written by something else (%s: %q): nothing is overwritten; "+
			"move or delete it, and replay the effect", w.to.url(w.name), keyMetadata, key))
	}
	return present, nil
}
