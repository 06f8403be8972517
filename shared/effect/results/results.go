// Package results is the kind of effect that writes a batch's result: documents, or one object.
package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// Do writes a batch's result: a document for each item to Collection, or one object to Bucket.
type Do struct {
	spec.NoSecrets
	Collection string
	Bucket     string // gs://BUCKET or gs://BUCKET/PREFIX
}

// Fields implements [spec.Action].
func (d *Do) Fields() []spec.Field {
	return []spec.Field{spec.Text("collection", &d.Collection), spec.Text("bucket", &d.Bucket)}
}

// PerItem implements [spec.Fetcher].
func (d *Do) PerItem() bool { return d.Bucket == "" }

// Check implements [spec.Action].
func (d *Do) Check(s spec.Spec, wrong spec.Report) {
	switch {
	case d.Collection == "" && d.Bucket == "":
		wrong("do", "results needs a collection, for a document each item, or a bucket, gs://BUCKET/PREFIX, for one object")
	case d.Bucket == "":
		if err := checkCollection(d.Collection); err != nil {
			wrong("collection", "%w", err)
		}
	case d.Collection != "":
		wrong("bucket", "results are written to a collection or to a bucket; for both make two effects")
	case s.Each != "":
		wrong("each", "a bucket gets the whole result as one object; remove each")
	default:
		if _, err := storage.ParseLocation(d.Bucket); err != nil {
			wrong("bucket", "%w", err)
		}
	}
}

// Handler returns what performs the effect: once per item for a collection, see [items.Each].
func (d *Do) Handler(_ spec.Spec, o ObjectOptions) (effect.Handler, error) {
	if d.Bucket == "" {
		return Documents(d.Collection), nil
	}
	o.Bucket = d.Bucket
	return Object(o)
}

// Unperformable returns why nothing can be written to the bucket now.
func (d *Do) Unperformable(ctx context.Context, o ObjectOptions) error {
	to, err := storage.ParseLocation(d.Bucket)
	if err != nil {
		return nil // it writes to a collection; Check has refused any other mistake
	}
	return o.Buckets.Check(ctx, to.Bucket)
}

// An ItemResult is the document that Do writes of one item, COLLECTION/batches:ID:KEY. It is
// the user's; the ledger neither reads nor deletes it.
type ItemResult struct {
	Schema    int           `json:"schema" firestore:"schema"`
	Operation operation.Key `json:"operation" firestore:"operation"`
	JobKind   string        `json:"jobKind,omitempty" firestore:"jobKind,omitempty"`
	Key       string        `json:"key" firestore:"key"`
	Index     int64         `json:"index" firestore:"index"`
	// Response or Error is the item as Gemini returned it, as JSON text: a store refuses some
	// member names that JSON allows.
	Response       string `json:"response,omitempty" firestore:"response,omitempty"`
	Error          string `json:"error,omitempty" firestore:"error,omitempty"`
	IdempotencyKey string `json:"idempotencyKey" firestore:"idempotencyKey"`
}

// Documents returns a handler, for [items.Each], that writes an item to a collection of the user's choice in
// the ledger's store. The document is written in the commit that records the item: exactly once. A
// rerun replaces what an earlier run wrote. An item whose document would be larger than 1 MiB is
// FAILED.
func Documents(collection string) effect.Handler {
	return effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		if task.Item == nil {
			return nil, effect.Permanent(errors.New("results are written item by item"))
		}
		if size := len(task.Item.Response) + len(task.Item.Error); size > maxItemDocument {
			return nil, effect.Permanent(fmt.Errorf("the item has %d bytes, more than the %d of a document", size,
				maxItemDocument))
		}
		var completion ledger.Payload
		if err := json.Unmarshal(task.Payload, &completion); err != nil {
			return nil, effect.Permanent(fmt.Errorf("reading the payload of the effect: %w", err))
		}
		return []ledger.Write{{
			Path: ledger.ResultPath(collection, task.Operation, task.Item.Key), Token: ledger.Replace,
			Data: ItemResult{
				Schema: operation.SchemaVersion, Operation: task.Operation, JobKind: completion.JobKind,
				Key: task.Item.Key, Index: task.Item.Index,
				Response: string(task.Item.Response), Error: string(task.Item.Error), IdempotencyKey: task.IdempotencyKey,
			},
		}}, nil
	})
}

// maxItemDocument is the most that a document holds in Firestore, in bytes.
const maxItemDocument = 1 << 20

var collectionName = diag.Pattern(`^[A-Za-z][A-Za-z0-9_-]*$`)

const maxCollection = 63 // bytes

// checkCollection returns what is wrong with a collection for results.
func checkCollection(name string) error {
	own := []string{
		ledger.OperationsCollection, ledger.DeliveriesCollection, ledger.EffectsCollection, ledger.ItemsCollection,
		ledger.IntentsCollection, ledger.QuarantineCollection, ledger.PartsCollection,
		ledger.PassesCollection, ledger.JobsCollection, ledger.SettingsCollection,
	}
	switch {
	case !collectionName().MatchString(name) || len(name) > maxCollection:
		return fmt.Errorf("collection must be letters, digits, - and _, beginning with a letter, at most 63, not %q", name)
	case slices.Contains(own, name):
		return fmt.Errorf("collection %s is the ledger's own; name another", name)
	}
	return nil
}
