package geminisim_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestBatchThroughSDK(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Seed: 1})
	sim.Script("night", geminisim.Script{Hold: geminisim.StatePending})
	ctx := t.Context()

	job := create(t, client, "night")
	if !regexp.MustCompile(`^batches/[a-z0-9]{36}$`).MatchString(job.Name) {
		t.Errorf("name %q is not batches/ and 36 lowercase letters and digits", job.Name)
	}
	if job.State != genai.JobStatePending || job.DisplayName != "night" || job.Model != "models/gemini-3.5-flash" {
		t.Errorf("created %+v", job)
	}
	if !job.UpdateTime.Equal(job.CreateTime) || !job.EndTime.IsZero() {
		t.Errorf("a new batch has times %v, %v, %v", job.CreateTime, job.UpdateTime, job.EndTime)
	}

	for _, step := range []struct {
		state geminisim.State
		want  genai.JobState
	}{
		{geminisim.StateRunning, genai.JobStateRunning},
		{"BATCH_STATE_DREAMING", "BATCH_STATE_DREAMING"},
		{geminisim.StateSucceeded, genai.JobStateSucceeded},
	} {
		if err := sim.SetState(job.Name, step.state); err != nil {
			t.Fatal(err)
		}
		before := job.UpdateTime
		var err error
		if job, err = client.Batches.Get(ctx, job.Name, nil); err != nil {
			t.Fatal(err)
		}
		if job.State != step.want || !job.UpdateTime.After(before) {
			t.Errorf("in %s the SDK sees %s, updated %v after %v", step.state, job.State, job.UpdateTime, before)
		}
	}
	if job.EndTime.IsZero() || job.EndTime.Before(job.UpdateTime) || job.Dest == nil || len(job.Dest.FileName) != len("files/")+42 {
		t.Errorf("succeeded: ended %v, updated %v, results %+v", job.EndTime, job.UpdateTime, job.Dest)
	}
	truth := sim.Batches()[0]
	if truth.Name != job.Name || truth.State != geminisim.StateSucceeded || truth.ResultFile != job.Dest.FileName ||
		!truth.UpdateTime.Equal(job.UpdateTime) || truth.Completion != geminisim.CompletionNone {
		t.Errorf("truth %+v, SDK %+v", truth, job)
	}

	if _, err := client.Batches.Delete(ctx, job.Name, nil); err != nil {
		t.Fatal(err)
	}
	_, err := client.Batches.Get(ctx, job.Name, nil)
	wantAPIError(t, err, 404, "NOT_FOUND")
	if !sim.Batches()[0].Deleted {
		t.Error("the truth does not say that the batch was deleted")
	}
}

func wantAPIError(t *testing.T, err error, code int, status string) {
	t.Helper()
	var api genai.APIError
	if !errors.As(err, &api) || api.Code != code || api.Status != status {
		t.Errorf("error %v, want an APIError with %d %s", err, code, status)
	}
}

func TestBatchRunsByItself(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Speed: 1e6})
	job := create(t, client, "")
	wait(t, sim, func(st geminisim.Stats) bool { return st.Settled == 1 })
	job, err := client.Batches.Get(t.Context(), job.Name, nil)
	if err != nil || job.State != genai.JobStateSucceeded {
		t.Errorf("state %v, error %v", job, err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Speed: 1e4})
	sim.Script("hold", geminisim.Script{Hold: geminisim.StateRunning})
	job := create(t, client, "hold")
	if err := client.Batches.Cancel(t.Context(), job.Name, nil); err != nil {
		t.Fatal(err)
	}
	wait(t, sim, func(st geminisim.Stats) bool { return st.Settled == 1 })
	if err := client.Batches.Cancel(t.Context(), job.Name, nil); err != nil {
		t.Errorf("cancelling again: %v", err)
	}
	got, err := client.Batches.Get(t.Context(), job.Name, nil)
	if err != nil || got.State != genai.JobStateCancelled || got.EndTime.IsZero() {
		t.Errorf("job %+v, error %v", got, err)
	}
	wantAPIError(t, client.Batches.Cancel(t.Context(), "batches/nosuch", nil), 404, "NOT_FOUND")
}

func TestListNewestFirstInPages(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	empty, err := client.Batches.List(t.Context(), nil)
	if err != nil || len(empty.Items) != 0 {
		t.Fatalf("empty list: %+v, %v", empty, err)
	}
	var want []string
	for i := range 7 {
		name := fmt.Sprint("job-", i)
		sim.Script(name, geminisim.Script{Hold: geminisim.StateRunning})
		want = append([]string{name}, want...)
		create(t, client, name)
	}
	page, err := client.Batches.List(t.Context(), &genai.ListBatchJobsConfig{PageSize: 3})
	if err != nil {
		t.Fatal(err)
	}
	sizes, got := []int{}, []string{}
	for {
		sizes = append(sizes, len(page.Items))
		for _, job := range page.Items {
			got = append(got, job.DisplayName)
		}
		create(t, client, "in between") // moves no page
		if page, err = page.Next(t.Context()); errors.Is(err, genai.ErrPageDone) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{3, 3, 1}, sizes); diff != "" {
		t.Error(diff)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	sim, client, srv := serve(t, geminisim.Config{})
	model := "/v1beta/models/gemini-3.5-flash:"
	for _, c := range []struct {
		name, method, path, body string
		want                     int
	}{
		{"no input", "POST", model + "batchGenerateContent", `{"batch":{}}`, 400},
		{"not JSON", "POST", model + "batchGenerateContent", `{`, 400},
		{"unknown verb", "POST", model + "sing", `{}`, 404},
		{"unknown path", "GET", "/v1/batches", "", 404},
		{"page size", "GET", "/v1beta/batches?pageSize=x", "", 400},
		{"page token", "GET", "/v1beta/batches?pageToken=x", "", 400},
		{"unknown file", "GET", "/v1beta/files/batch-x:download?alt=media", "", 403},
	} {
		w := call(t, sim, c.method, c.path, c.body)
		var body struct {
			Error struct {
				Code            int
				Message, Status string
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != c.want || body.Error.Code != c.want ||
			body.Error.Message == "" || body.Error.Status == "" {
			t.Errorf("%s: %d %s %v, want %d", c.name, w.Code, w.Body, err, c.want)
		}
	}
	resp, err := srv.Client().Get(srv.URL + "/v1beta/batches")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("without a key: %d", resp.StatusCode)
	}
	_, err = client.Batches.Get(t.Context(), "batches/nosuch", nil)
	wantAPIError(t, err, 404, "NOT_FOUND")
}

func TestInlineResults(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{FailedItems: 0.5}})
	sim.Script("inline", geminisim.Script{Hold: geminisim.StateRunning})
	src := &genai.BatchJobSource{}
	for i := range 20 {
		src.InlinedRequests = append(src.InlinedRequests, &genai.InlinedRequest{
			Contents: genai.Text("hello"), Metadata: map[string]string{"key": fmt.Sprint("review-", i)},
		})
	}
	job, err := client.Batches.Create(t.Context(), "gemini-3.5-flash", src, &genai.CreateBatchJobConfig{DisplayName: "inline"})
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.SetState("inline", geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	if job, err = client.Batches.Get(t.Context(), job.Name, nil); err != nil {
		t.Fatal(err)
	}
	var failed, answered int
	for i, item := range job.Dest.InlinedResponses {
		if item.Metadata["key"] != fmt.Sprint("review-", i) {
			t.Errorf("item %d has metadata %v", i, item.Metadata)
		}
		switch {
		case item.Error != nil:
			failed++
		case item.Response.Text() != "":
			answered++
		}
	}
	if failed == 0 || answered == 0 || failed+answered != 20 {
		t.Errorf("%d failed and %d answered of 20", failed, answered)
	}
}

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
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/download/v1beta/"+file+":download?alt=media", nil)
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

func TestEndsWithoutResults(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	for _, state := range []geminisim.State{geminisim.StateFailed, geminisim.StateCancelled, geminisim.StateExpired} {
		sim.Script(string(state), geminisim.Script{Hold: state})
		job := create(t, client, string(state))
		var raw struct {
			Done     bool
			Error    struct{ Code int }
			Response any
			Metadata struct{ EndTime time.Time }
		}
		w := call(t, sim, "GET", "/v1beta/"+job.Name, "")
		if err := json.Unmarshal(w.Body.Bytes(), &raw); err != nil {
			t.Fatal(err)
		}
		if !raw.Done || raw.Error.Code == 0 || raw.Response != nil || raw.Metadata.EndTime.IsZero() {
			t.Errorf("%s: %s", state, w.Body)
		}
	}
}
