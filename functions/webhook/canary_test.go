package webhook_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestCanaryDescribed: of a canary's batch the form of each delivery is logged, and no value. The
// one that settles it is refused although it is ingested; neither its redelivery nor another
// delivery is, whatever its id is [W4].
func TestCanaryDescribed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	for key, id := range map[operation.Key]string{
		"batches/a": operation.CanaryPrefix + "1", "batches/b": operation.CanaryPrefix + "2", "batches/c": "nightly",
	} {
		if _, err := w.ledger.Register(t.Context(), ledger.Registration{
			Name: operation.Name{Key: key, Resource: string(key)}, CorrelationID: id,
		}); err != nil {
			t.Fatal(err)
		}
	}
	const body = `{"type":"batch.succeeded","version":"v1","timestamp":"2026-01-22T12:00:00Z",` +
		`"data":{"id":"batches/a","surprise":"s3cr3t"}}`
	other := strings.Replace(body, "batches/a", "batches/c", 1)
	for _, c := range []struct {
		id, body string
		status   int
		repeated any // nil: nothing is described
	}{
		{"m1", body, http.StatusServiceUnavailable, false}, {"m1", body, http.StatusOK, true},
		{"m2", body, http.StatusOK, false}, {"m3", other, http.StatusOK, nil},
		{"m4", strings.Replace(body, "succeeded", "running", 1), http.StatusOK, false},
	} {
		if a := w.deliver(c.id, c.body); a.Status != c.status {
			t.Errorf("%s: answered %d, want %d", c.id, a.Status, c.status)
		}
		var described []map[string]any
		for _, line := range w.log.Drain(t) {
			if line["outcome"] == "described" {
				described = append(described, line)
			}
		}
		if c.repeated == nil {
			if len(described) > 0 {
				t.Errorf("%s: it was described: %v", c.id, described)
			}
			continue
		}
		if len(described) != 1 {
			t.Fatalf("%s: described %d times", c.id, len(described))
		}
		line := described[0]
		paths, _ := line["paths"].([]any)
		headers, _ := line["headers"].([]any)
		if line["event"] != "canary" || line["repeated"] != c.repeated || line["id_form"] != "batches/ID" ||
			line["signature"] != "v1" || !slices.Contains(paths, any("data.surprise text")) ||
			!slices.Contains(headers, any("Webhook-Id")) || strings.Contains(fmt.Sprint(line), "s3cr3t") {
			t.Errorf("%s: %v", c.id, line)
		}
	}
	rec, err := w.ledger.Record(t.Context(), "batches/a")
	if err != nil || rec.State != operation.Succeeded {
		t.Errorf("%+v, %v", rec, err)
	}
}
