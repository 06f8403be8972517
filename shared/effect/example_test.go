package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// A billing stands for the team's own system. It keeps the keys that it has seen, as a table with a
// unique column would, and so detects a repeat.
type billing struct{ invoices map[string]string }

func (b *billing) charge(_ context.Context, idempotencyKey, jobKind string) error {
	if _, seen := b.invoices[idempotencyKey]; !seen {
		b.invoices[idempotencyKey] = "one " + jobKind
	}
	return nil
}

// A handler that writes to a system outside of the ledger: at least once, so it passes the key on
// and the other side refuses the repeat.
func ExampleHandler_outside() {
	system := &billing{invoices: map[string]string{}}
	invoice := effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		var completion ledger.Payload
		if err := json.Unmarshal(task.Payload, &completion); err != nil {
			return nil, effect.Permanent(fmt.Errorf("reading the completion: %w", err))
		}
		if completion.JobKind == "" {
			return nil, effect.Permanent(errors.New("a job without a kind has no price"))
		}
		return nil, system.charge(ctx, task.IdempotencyKey, completion.JobKind)
	})

	for range 2 { // the second time as after a crash that lost the outcome of the first
		settle("invoice", invoice)
	}
	for key, what := range system.invoices {
		fmt.Println(key, "is for", what)
	}
	// Output:
	// invoice finished
	// invoice finished
	// gemini:batches/abc#invoice is for one batch-review
}

// A summary is a document of the team's own.
type summary struct {
	JobKind string `json:"jobKind" firestore:"jobKind"`
	File    string `json:"file" firestore:"file"`
}

// A handler that writes nothing itself: the documents that it returns are written in the commit
// that makes the effect DONE, and so exactly once.
func ExampleHandler_documents() {
	summarize := effect.HandlerFunc(func(_ context.Context, task effect.Task) ([]ledger.Write, error) {
		var completion ledger.Payload
		if err := json.Unmarshal(task.Payload, &completion); err != nil {
			return nil, effect.Permanent(fmt.Errorf("reading the completion: %w", err))
		}
		return []ledger.Write{{
			Path: ledger.EffectPath(task.Operation, task.Effect).Child("documents", "summary"),
			Data: summary{JobKind: completion.JobKind, File: completion.Result.OutputFile},
		}}, nil
	})

	settle("summarize", summarize, "operations/batches:abc/effects/summarize/documents/summary")
	// Output:
	// summarize finished
	// {JobKind:batch-review File:files/out}
}

// settle lets an operation end whose effect is the handler's, runs the effect, and prints the
// outcome and the documents.
func settle(name string, handler effect.Handler, documents ...ledger.Path) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "opledger")
	must(err)
	defer os.RemoveAll(dir) //nolint:errcheck // a folder of the system's temporary ones
	store, err := sqlite.Open(ctx, filepath.Join(dir, "ledger.db"), time.Now)
	must(err)
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: name, On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	must(err)

	batch := operation.Name{Key: "batches/abc", Resource: "batches/abc"}
	_, err = l.Operations.Register(ctx,
		ledger.Registration{Name: batch, Submission: operation.Submission{JobKind: "batch-review"}})
	must(err)
	_, err = l.Operations.Ingest(ctx, operation.Event{
		Name: batch, DeliveryID: "msg_1", Source: operation.Webhook, State: operation.Succeeded,
		Result: operation.Result{OutputFile: "files/out"},
	})
	must(err)
	runner := effect.NewRunner(l, map[string]effect.Handler{name: handler})
	report, err := runner.Run(ctx, ledger.Message{Operation: batch.Key, Effect: name, Attempt: 1})
	must(err)
	fmt.Println(name, report.Outcome)

	snapshot, err := store.Get(ctx, documents...)
	must(err)
	for _, doc := range snapshot.Documents {
		var written summary
		must(doc.Decode(&written))
		fmt.Printf("%+v\n", written)
	}
	must(store.Close())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
