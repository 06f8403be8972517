package firestore_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	cloud "cloud.google.com/go/firestore"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness/meter"
)

// BenchmarkPass makes passes over 20 pending operations in ledgers of more and more settled ones,
// each with an effect. The bill of a pass must not grow with the settled ones [L4].
func BenchmarkPass(b *testing.B) {
	const pending = 20
	least := 0
	for _, settled := range []int{100, 100_000} {
		b.Run(fmt.Sprintf("settled=%d", settled), func(b *testing.B) {
			var m meter.Meter
			store, client := both(b, m.Dial()...)
			l := newLedger(b, store, &outbox{})
			fill(b, client, l, settled)
			gemini, requests := running(b)
			reconciler := reconcile.New(reconcile.Options{Ledger: l, Gemini: gemini, Log: slog.New(slog.DiscardHandler)})
			reads, passes := 0, 0
			for b.Loop() {
				b.StopTimer()
				for i := range pending { // again: what was looked up is due only after an interval
					name := nameOf(settled + passes*pending + i)
					r := ledger.Registration{Name: name, SubmittedAt: time.Now().Add(-time.Hour)}
					if _, err := l.Operations.Register(b.Context(), r); err != nil {
						b.Fatal(err)
					}
					known := operation.Event{Name: name, DeliveryID: "m1", Source: operation.Webhook, State: operation.Running}
					if _, err := l.Operations.Ingest(b.Context(), known); err != nil { // so that the look-up has no news
						b.Fatal(err)
					}
				}
				m.Collect()
				b.StartTimer()
				if got, err := reconciler.Pass(b.Context()); err != nil || got.Running != pending || got.Errors != 0 {
					b.Fatalf("%+v %v", got, err)
				}
				b.StopTimer()
				reads += m.Collect().Reads
				passes++
				b.StartTimer()
			}
			if least == 0 {
				least = reads / passes
			}
			if reads > least*passes {
				b.Fatalf("L4: %d passes read %d documents, although one in the smallest ledger reads %d", passes, reads, least)
			}
			b.ReportMetric(float64(reads)/float64(passes), "reads/pass")
			b.ReportMetric(float64(requests.Load())/float64(passes), "requests/pass")
		})
	}
}

// fill puts n operations into the ledger that have ended and whose effect is done: copies of one
// that was created as any other.
func fill(b *testing.B, client *cloud.Client, l *ledger.Ledger, n int) {
	b.Helper()
	if _, err := l.Operations.Register(b.Context(), ledger.Registration{Name: nameOf(0)}); err != nil {
		b.Fatal(err)
	}
	if _, err := l.Operations.Ingest(b.Context(), success(0, "delivery")); err != nil {
		b.Fatal(err)
	}
	grant, err := l.Effects.Claim(b.Context(), nameOf(0).Key, publish)
	if err != nil {
		b.Fatal(err)
	}
	if err := l.Effects.Finish(b.Context(), grant.Lease); err != nil {
		b.Fatal(err)
	}
	record, _, effect := refs(client, 0)
	found, err := client.GetAll(b.Context(), []*cloud.DocumentRef{record, effect})
	if err != nil {
		b.Fatal(err)
	}
	writer := client.BulkWriter(b.Context())
	for i := 1; i < n; i++ {
		record, _, effect := refs(client, i)
		for j, ref := range []*cloud.DocumentRef{record, effect} {
			if _, err := writer.Create(ref, found[j].Data()); err != nil {
				b.Fatal(err)
			}
		}
	}
	writer.End()
}

// running is a Gemini at which every batch runs.
func running(b *testing.B) (*lookup.Client, *atomic.Int64) {
	b.Helper()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		body := `{}` // its list is empty
		if name := strings.TrimPrefix(r.URL.Path, "/v1beta/"); name != "batches" {
			body = fmt.Sprintf(`{"name":%q,"metadata":{"state":"BATCH_STATE_RUNNING"}}`, name)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}))
	b.Cleanup(server.Close)
	client, err := lookup.NewClient(lookup.Options{APIKey: "key", BaseURL: server.URL, HTTP: server.Client()})
	if err != nil {
		b.Fatal(err)
	}
	return client, &requests
}
