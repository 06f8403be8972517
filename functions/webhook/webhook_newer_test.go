package webhook_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// TestNewer: a delivery about an operation that a newer revision wrote is answered 503, so that Gemini
// delivers it again, and it is accepted when that revision is back. Others are accepted meanwhile
// [L6].
func TestNewer(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	log := &harness.Log{}
	function := over(t, store, webhook.Options{Timeout: time.Minute, Log: logging.New(log, "")})
	running := event("batch.running", "batches/a", t1)
	if answer := sent(t.Context(), function, running); answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	log.Drain(t)
	record := ledger.OperationPath("batches/a")
	ledgertest.Renumber(t, store, record, operation.NewestSchema+1)
	ended := event("batch.succeeded", "batches/a", t1)
	answer := sentAs(t.Context(), function, "m2", ended)
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v, want 503", answer.Code, answer.Header())
	}
	lines := log.Drain(t)
	if len(lines) != 1 || lines[0]["event"] != "ingest" || lines[0]["outcome"] != "newer" {
		t.Errorf("logged %v", lines)
	}
	other := sentAs(t.Context(), function, "m3", event("batch.succeeded", "batches/b", t1))
	if other.Code != http.StatusOK {
		t.Errorf("another operation: %d %s", other.Code, other.Body)
	}
	ledgertest.Renumber(t, store, record, operation.SchemaVersion)
	if answer := sentAs(t.Context(), function, "m2", ended); answer.Code != http.StatusOK {
		t.Errorf("delivered again: %d %s", answer.Code, answer.Body)
	}
}
