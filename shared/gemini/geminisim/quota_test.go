package geminisim_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// post creates an inline batch of a model without the SDK.
func post(t *testing.T, sim *geminisim.Sim, model, label, text string) *httptest.ResponseRecorder {
	t.Helper()
	return call(t, sim, "POST", "/v1beta/models/"+model+":batchGenerateContent", fmt.Sprintf(
		`{"batch":{"displayName":%q,"inputConfig":{"requests":{"requests":[{"request":{"x":%q}}]}}}}`, label, text))
}

func wantExhausted(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != 429 || !strings.Contains(w.Body.String(), "RESOURCE_EXHAUSTED") ||
		!strings.Contains(w.Body.String(), "RetryInfo") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestMaxBatches: an unfinished batch counts, deleted or not; a finished one does not.
func TestMaxBatches(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Quotas: geminisim.Quotas{MaxBatches: 2}})
	sim.ScriptPrefix("", geminisim.Script{Hold: geminisim.StateRunning})
	if _, err := client.Batches.Delete(t.Context(), submit(t, sim, "a"), nil); err != nil {
		t.Fatal(err)
	}
	second := submit(t, sim, "b")
	wantExhausted(t, post(t, sim, "m", "c", ""))
	if n := sim.Stats().QuotaRefused; n != 1 || len(sim.Batches()) != 2 {
		t.Errorf("%d refusals, %d batches", n, len(sim.Batches()))
	}
	if err := sim.SetState(second, geminisim.StateExpired); err != nil {
		t.Fatal(err)
	}
	if w := post(t, sim, "m", "c", ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestCancelledStillCount: a cancelled batch may count for 48 h more.
func TestCancelledStillCount(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	began := time.Now()
	sim, _, _ := serve(t, geminisim.Config{
		Quotas: geminisim.Quotas{MaxBatches: 1}, Faults: geminisim.Faults{CancelledStillCount: 1},
		Now: func() time.Time { return began.Add(time.Duration(passed.Load())) },
	})
	sim.Script("a", geminisim.Script{Hold: geminisim.StateRunning})
	if err := sim.SetState(submit(t, sim, "a"), geminisim.StateCancelled); err != nil {
		t.Fatal(err)
	}
	passed.Store(int64(47 * time.Hour))
	wantExhausted(t, post(t, sim, "m", "b", ""))
	passed.Store(int64(49 * time.Hour))
	if w := post(t, sim, "m", "b", ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestEnqueuedTokens: the quota is a model's own, and counts a token for four bytes of requests, without their keys.
func TestEnqueuedTokens(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Quotas: geminisim.Quotas{EnqueuedTokens: 1000}})
	sim.ScriptPrefix("", geminisim.Script{Hold: geminisim.StateRunning})
	long := strings.Repeat("x", 3000)
	if w := post(t, sim, "m", "a", long); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	wantExhausted(t, post(t, sim, "m", "b", long))
	if w := post(t, sim, "another", "b", long); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	file := upload(t, client, `{"key":"`+strings.Repeat("k", 2000)+`","request":{"x":"`+long+`"}}`)
	_, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name}, nil)
	wantAPIError(t, err, 429, "RESOURCE_EXHAUSTED")
	if err := sim.SetState("a", geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	if _, err = client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name}, nil); err != nil {
		t.Error(err)
	}
}

// TestFileBytes: what is uploaded and the results of uploaded files fill the storage; deleting an input
// makes room, and deleting results is not possible.
func TestFileBytes(t *testing.T) {
	t.Parallel()
	line := asks(1)[0]
	sim, client, _ := serve(t, geminisim.Config{Quotas: geminisim.Quotas{FileBytes: int64(2*len(line) + 10)}})
	fits := func(bytes int) bool {
		w := startSession(t, sim).send("upload, finalize", 0, strings.NewReader(strings.Repeat("x", bytes)))
		if w.Code != 200 {
			wantExhausted(t, w)
			return false
		}
		var made struct{ File genai.File }
		if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Files.Delete(t.Context(), made.File.Name, nil); err != nil {
			t.Fatal(err)
		}
		return true
	}
	job := ask(t, sim, client, "job", geminisim.StateRunning, line)
	if !fits(len(line)+10) || fits(len(line)+11) {
		t.Error("an upload does not count its bytes")
	}
	if err := sim.SetState(job.Name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	if !fits(10) || fits(12) {
		t.Error("results do not count")
	}
	if _, err := client.Files.Delete(t.Context(), sim.Batches()[0].InputFile, nil); err != nil {
		t.Fatal(err)
	}
	if !fits(len(line)) {
		t.Error("a deleted file counts")
	}
	if n := sim.Stats().QuotaRefused; n != 2 {
		t.Errorf("%d refusals", n)
	}
}

// TestFileBytesAnnounced: an upload that announces too much is refused at its start.
func TestFileBytesAnnounced(t *testing.T) {
	t.Parallel()
	for announced, want := range map[string]int{"100": 200, "101": 429, "201": 400} {
		sim, _, _ := serve(t, geminisim.Config{Quotas: geminisim.Quotas{FileBytes: 100}, MaxUpload: 200})
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/upload/v1beta/files", strings.NewReader("{}"))
		for name, value := range map[string]string{
			"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start", "X-Goog-Api-Key": "key",
			"X-Goog-Upload-Header-Content-Length": announced,
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		if sim.ServeHTTP(w, r); w.Code != want || (want == 429) != strings.Contains(w.Body.String(), "file_storage_bytes") {
			t.Errorf("%s bytes: %d %s, want %d", announced, w.Code, w.Body, want)
		}
	}
}
