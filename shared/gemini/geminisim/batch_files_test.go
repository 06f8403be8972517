package geminisim_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestDownload(t *testing.T) {
	t.Parallel()
	sim, client, srv := serve(t, geminisim.Config{Faults: geminisim.Faults{FailedItems: 0.3}})
	sim.Script("file", geminisim.Script{Hold: geminisim.StateRunning})
	job := create(t, client, "file")
	file := "files/batch-" + strings.TrimPrefix(job.Name, "batches/")
	if w := call(t, sim, "GET", "/v1beta/"+file+":download?alt=media", ""); w.Code != http.StatusForbidden {
		t.Errorf("results before the end: %d", w.Code)
	}
	if err := sim.SetState(job.Name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	bySDK, err := client.Files.Download(t.Context(), genai.NewDownloadURIFromFile(&genai.File{DownloadURI: file}), nil)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(
		t.Context(), http.MethodGet, srv.URL+"/download/v1beta/"+file+":download?alt=media", nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Goog-Api-Key", "key")
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	documented, err := io.ReadAll(resp.Body)
	if err != nil || !bytes.Equal(documented, bySDK) {
		t.Errorf("the two paths give different results (%v):\n%s\n%s", err, documented, bySDK)
	}

	lines, failed := 0, 0
	for sc := bufio.NewScanner(bytes.NewReader(bySDK)); sc.Scan(); lines++ {
		var line struct {
			Key      string
			Response *genai.GenerateContentResponse
			Error    *genai.JobError
		}
		if err := json.Unmarshal(sc.Bytes(), &line); err != nil || line.Key != fmt.Sprint("request-", lines+1) ||
			(line.Response == nil) == (line.Error == nil) {
			t.Errorf("line %d: %s %v", lines, sc.Bytes(), err)
		}
		if line.Error != nil {
			failed++
		}
	}
	var raw struct {
		Done     bool
		Metadata struct{ BatchStats map[string]string }
		Response struct{ ResponsesFile string }
	}
	w := call(t, sim, "GET", "/v1beta/"+job.Name, "")
	if err := json.Unmarshal(w.Body.Bytes(), &raw); err != nil {
		t.Fatal(err)
	}
	stats := raw.Metadata.BatchStats
	if !raw.Done || raw.Response.ResponsesFile != file || stats["requestCount"] != fmt.Sprint(lines) ||
		failed > 0 && stats["failedRequestCount"] != fmt.Sprint(failed) {
		t.Errorf("%d lines, %d failed: %s", lines, failed, w.Body)
	}
}

// TestDownloadFaults: a download may have its lines in another order each time, and may end in the middle
// of one, without a length that tells. Without these faults it has the order of the input.
func TestDownloadFaults(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]geminisim.Faults{"none": {}, "shuffled": {Shuffled: 1}, "cut": {Cut: 1}} {
		sim, client, _ := serve(t, geminisim.Config{Faults: faults})
		sim.Script("file", geminisim.Script{Hold: geminisim.StateRunning})
		job := create(t, client, "file")
		if err := sim.SetState(job.Name, geminisim.StateSucceeded); err != nil {
			t.Fatal(err)
		}
		path := "/v1beta/files/batch-" + strings.TrimPrefix(job.Name, "batches/") + ":download?alt=media"
		orders := map[string]bool{}
		for range 20 {
			w := call(t, sim, "GET", path, "")
			text := w.Body.String()
			orders[text] = true
			if whole := strings.HasSuffix(text, "}\n"); whole != (name != "cut") || whole == w.Flushed {
				t.Errorf("%s: it ends with %q, sent without a length: %v", name, text[max(0, len(text)-20):], w.Flushed)
			}
		}
		if (len(orders) == 1) != (name == "none") {
			t.Errorf("%s: %d different downloads of 20", name, len(orders))
		}
	}
}

// TestResultsKept: a result file is there for six weeks after the end of its batch, or as configured.
func TestResultsKept(t *testing.T) {
	t.Parallel()
	for configured, kept := range map[time.Duration]time.Duration{
		0: 6 * 7 * 24 * time.Hour, time.Hour: time.Hour,
	} {
		var passed atomic.Int64
		began := time.Now()
		sim, client, _ := serve(t, geminisim.Config{
			ResultsKept: configured, Now: func() time.Time { return began.Add(time.Duration(passed.Load())) },
		})
		sim.Script("file", geminisim.Script{Hold: geminisim.StateRunning})
		job := create(t, client, "file")
		if err := sim.SetState(job.Name, geminisim.StateSucceeded); err != nil {
			t.Fatal(err)
		}
		for after, want := range map[time.Duration]int{kept: http.StatusOK, kept + time.Second: http.StatusForbidden} {
			passed.Store(int64(after))
			path := "/v1beta/files/batch-" + strings.TrimPrefix(job.Name, "batches/") + ":download?alt=media"
			if w := call(t, sim, "GET", path, ""); w.Code != want {
				t.Errorf("kept for %v, after %v: %d, want %d", configured, after, w.Code, want)
			}
		}
	}
}
