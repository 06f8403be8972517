package geminisim_test

import (
	"net/http"
	"testing"

	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/operations"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestScriptedAnswersThroughSDK(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	ctx := t.Context()
	sim.Script("pinned", geminisim.Script{Hold: geminisim.StateRunning})
	job := create(t, client, "pinned")
	other := create(t, client, "other")

	get := func() (*genai.BatchJob, error) { return client.Batches.Get(ctx, job.Name, nil) }
	sim.AnswerNext(geminisim.OpGet, "pinned",
		geminisim.Answer{Status: 404, Body: geminisim.ErrorAnswer(404, "gone").Body, Times: 2},
		geminisim.ErrorAnswer(429, "slow down"),
		geminisim.ErrorAnswer(503, "later"),
		geminisim.Answer{Body: geminisim.ErrorAnswer(500, "hollow").Body},
		geminisim.Answer{Body: []byte("{}")},
		geminisim.Answer{Status: 502, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("<html>")},
		geminisim.Answer{Drop: true},
	)
	if _, err := client.Batches.Get(ctx, other.Name, nil); err != nil {
		t.Errorf("an answer for one batch went to another: %v", err)
	}
	for range 2 {
		_, err := get()
		wantAPIError(t, err, 404, "NOT_FOUND")
	}
	_, err := get()
	wantAPIError(t, err, 429, "RESOURCE_EXHAUSTED")
	_, err = get()
	wantAPIError(t, err, 503, "UNAVAILABLE")
	list, err := client.Batches.List(ctx, nil)
	if err != nil || len(list.Items) != 2 {
		t.Errorf("the list does not work while get fails: %v", err)
	}
	for range 2 {
		if hollow, err := get(); err != nil || hollow.State != "" {
			t.Errorf("a hollow success gives %+v, %v", hollow, err)
		}
	}
	_, err = get()
	wantAPIError(t, err, 502, "502 Bad Gateway")
	if _, err := get(); err == nil {
		t.Error("a dropped connection gives no error")
	}
	if job, err = get(); err != nil || job.State != genai.JobStateRunning {
		t.Errorf("after the script: %+v, %v", job, err)
	}
	if n := sim.Stats().APIScripted; n != 8 {
		t.Errorf("%d scripted answers counted, want 8", n)
	}

	sim.AnswerNext(geminisim.OpGet, "", geminisim.Answer{Status: 500, Times: -1})
	for range 3 {
		if _, err := get(); err == nil {
			t.Error("no error")
		}
	}
	sim.ClearAnswers()
	if _, err := get(); err != nil {
		t.Error(err)
	}
}

func TestCreatedButAnswerLost(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	lost := geminisim.ErrorAnswer(503, "later")
	lost.Perform = true
	sim.AnswerNext(geminisim.OpCreate, "orphan", lost)
	src := &genai.BatchJobSource{FileName: "files/input"}
	_, err := client.Batches.Create(t.Context(), "m", src, &genai.CreateBatchJobConfig{DisplayName: "orphan"})
	wantAPIError(t, err, 503, "UNAVAILABLE")
	list, err := client.Batches.List(t.Context(), nil)
	if err != nil || len(list.Items) != 1 || list.Items[0].DisplayName != "orphan" {
		t.Errorf("the batch whose creation was not answered is not listed: %+v, %v", list, err)
	}
}

func TestScriptedDownloadAndWebhookAnswers(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	sim.Script("done", geminisim.Script{Hold: geminisim.StateSucceeded})
	job := create(t, client, "done")
	truth := sim.Batches()[0]
	sim.AnswerNext(geminisim.OpDownload, "done", geminisim.ErrorAnswer(503, "later"))
	sim.AnswerNext(geminisim.OpWebhook, "", geminisim.ErrorAnswer(503, "later"))
	sim.AnswerNext(geminisim.OpCancel, job.Name, geminisim.ErrorAnswer(429, "slow down"))
	sim.AnswerNext(geminisim.OpDelete, job.Name, geminisim.ErrorAnswer(500, "oh"))

	// Measured against SDK v1.77.0: a failed download comes back as data.
	data, err := client.Files.Download(
		t.Context(), genai.NewDownloadURIFromFile(&genai.File{DownloadURI: truth.ResultFile}), nil,
	)
	if err != nil || string(data) != string(geminisim.ErrorAnswer(503, "later").Body) {
		t.Errorf("download %s, %v", data, err)
	}
	_, err = client.Webhooks.List(t.Context(), operations.ListWebhooksRequest{}, noRetries)
	wantStatus(t, err, http.StatusServiceUnavailable)
	wantAPIError(t, client.Batches.Cancel(t.Context(), job.Name, nil), 429, "RESOURCE_EXHAUSTED")
	_, err = client.Batches.Delete(t.Context(), job.Name, nil)
	wantAPIError(t, err, 500, "INTERNAL")
	if st := sim.Stats(); st.APIScripted != 4 || sim.Batches()[0].Deleted {
		t.Errorf("%+v", st)
	}
}
