package geminisim_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"testing"

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
	if job.EndTime.IsZero() || job.EndTime.Before(job.UpdateTime) || job.Dest == nil ||
		len(job.Dest.FileName) != len("files/")+42 {
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
		{"unknown path", "GET", "/v2/batches", "", 404},
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
