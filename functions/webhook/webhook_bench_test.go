package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
)

// nowhere is a store that keeps nothing, so that only the function is measured.
type nowhere struct{ ledger.Store }

func (nowhere) Get(_ context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	return ledger.Snapshot{Documents: make([]ledger.Document, len(paths)), ReadTime: time.Now()}, nil
}

func (nowhere) Commit(context.Context, ...ledger.Write) ([]ledger.Token, error) { return nil, nil }

// BenchmarkDelivery: one delivery from the request to the answer, without the network. With 64 callers
// at once and -cpuprofile it shows what limits the rate.
func BenchmarkDelivery(b *testing.B) {
	b.Run("store=none/applied", func(b *testing.B) { benchmark(b, nowhere{}, fresh, 1) })
	b.Run("store=sqlite/applied", func(b *testing.B) { benchmark(b, onDisk(b), fresh, 1) })
	b.Run("store=sqlite/applied/callers=64", func(b *testing.B) { benchmark(b, onDisk(b), fresh, 64) })
	b.Run("store=sqlite/duplicate", func(b *testing.B) { benchmark(b, onDisk(b), same, 1) })
	b.Run("store=none/refused", func(b *testing.B) { benchmark(b, nowhere{}, forged, 1) })
}

func onDisk(b *testing.B) ledger.Store {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return store
}

type kind int

const (
	fresh  kind = iota // an operation of its own each time
	same               // the same delivery each time
	forged             // signed with another key
)

func benchmark(b *testing.B, store ledger.Store, kind kind, callers int) {
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	secrets, err := trust.FixedSecrets(secret)
	if err != nil {
		b.Fatal(err)
	}
	gate, err := trust.New(trust.Options{Tolerance: 5 * time.Minute, Static: secrets})
	if err != nil {
		b.Fatal(err)
	}
	function := webhook.New(webhook.Options{
		Ledger: l, Gate: gate, Confirm: trust.Dynamic, Now: time.Now, Log: logging.New(io.Discard, "p"),
		Timeout: time.Minute,
	})
	key, want := secret, http.StatusOK
	if kind == forged {
		key, want = other, http.StatusUnauthorized
	}
	var sent atomic.Int64
	var group sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range callers {
		group.Go(func() {
			for n := sent.Add(1); n <= int64(b.N); n = sent.Add(1) {
				if kind == same {
					n = 0
				}
				id := fmt.Sprintf("msg_%d", n)
				body := []byte(event("batch.succeeded", fmt.Sprintf("batches/b%d", n), t1))
				request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/webhook", bytes.NewReader(body))
				request.Header = signed(key, id, time.Now(), body)
				w := httptest.NewRecorder()
				function.ServeHTTP(w, request)
				if w.Code != want {
					b.Errorf("%d %s", w.Code, w.Body)
					return
				}
			}
		})
	}
	group.Wait()
}
