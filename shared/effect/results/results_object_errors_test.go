package results_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/test/itemworld"
)

// TestResultsObjectOfAnother: an object of another writer is not touched, nor one with other bytes,
// and the error says what to do.
func TestResultsObjectOfAnother(t *testing.T) {
	t.Parallel()
	own := map[string]string{"opledger-idempotency-key": "gemini:batches/abc#publish"}
	for text, metadata := range map[string]map[string]string{
		"not written by this effect": {"opledger-idempotency-key": "gemini:batches/abc#other"},
		`-key: ""`:                   nil,
		"other bytes":                own,
	} {
		w := newBucketWorld(t, itemworld.Many(several, 1000))
		w.End()
		w.sim.Put(bucket, objectName, "theirs", metadata)
		report := w.attempt(effect.Died)
		if cause := report.Cause.Error(); !strings.Contains(cause, text) || !strings.Contains(cause,
			"delete it, and replay") {
			t.Errorf("%v, want %s", report.Cause, text)
		}
		if object := w.sim.Object(bucket, objectName); string(object.Content) != "theirs" || object.Generation != 1 {
			t.Errorf("%+v", object)
		}
	}
}

// TestResultsObjectRefused: what an operator can fix is retried, not before the Retry-After of
// Cloud Storage. The rest is permanent.
func TestResultsObjectRefused(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]effect.Outcome{
		400: effect.Failed, 401: effect.Failed, 404: effect.Failed, 403: effect.Failed, 410: effect.Failed,
		429: effect.Failed, 500: effect.Failed,
		405: effect.Died, 411: effect.Died, 413: effect.Died,
	} {
		w := newBucketWorld(t, itemworld.Many(3))
		w.End()
		w.sim.Fail(storagesim.Begin, status, "3000")
		report := w.attempt(want)
		if text := report.Cause.Error(); !strings.Contains(text, fmt.Sprintf("gs://%s/%s: Cloud Storage answered %d", bucket,
			objectName, status)) {
			t.Errorf("%d: %v", status, report.Cause)
		}
		if wish := 3000 * time.Second; want == effect.Failed && status != 403 && report.RetryAfter < wish {
			t.Errorf("%d: again after %s", status, report.RetryAfter)
		}
	}
	w := newBucketWorld(t, itemworld.Many(3))
	w.End()
	w.sim.Close()
	if report := w.attempt(effect.Failed); !strings.Contains(report.Cause.Error(), "connection refused") ||
		strings.Contains(report.Cause.Error(), "/upload/") {
		t.Errorf("%v", report.Cause)
	}
}

// TestObjectEcho: neither the URL of an upload, which is enough to continue it, nor the request's
// headers are in an error.
func TestObjectEcho(t *testing.T) {
	t.Parallel()
	for _, point := range []storagesim.Point{storagesim.Begin, storagesim.Chunk, storagesim.Last} {
		w := newBucketWorld(t, itemworld.Many(several, 1000))
		w.End()
		w.sim.Fail(point, http.StatusMethodNotAllowed, "")
		text := w.attempt(effect.Died).Cause.Error()
		if strings.Contains(text, "secret-of-") || strings.Contains(text, "/upload/storage") ||
			!strings.Contains(text, "injected failure: [path]") {
			t.Errorf("%s: %s", point, text)
		}
	}
}
