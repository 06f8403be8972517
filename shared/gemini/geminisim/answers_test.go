package geminisim_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

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

func TestAPIFaults(t *testing.T) {
	t.Parallel()
	run := func(f geminisim.Faults) (codes map[int]int, states map[string]int, st geminisim.Stats) {
		sim := geminisim.New(geminisim.Config{Seed: 7, Faults: f})
		defer sim.Close()
		sim.Script("b", geminisim.Script{Hold: geminisim.StatePending})
		name := submit(t, sim, "b")
		if err := sim.SetState(name, geminisim.StateRunning); err != nil {
			t.Fatal(err)
		}
		codes, states = map[int]int{}, map[string]int{}
		for range 200 {
			w := call(t, sim, "GET", "/v1beta/"+name, "")
			var op struct{ Metadata struct{ State string } }
			_ = json.Unmarshal(w.Body.Bytes(), &op) // HTML, at times
			codes[w.Code]++
			states[op.Metadata.State]++
			if w.Code == 429 && (w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "RetryInfo")) {
				t.Errorf("429 without Retry-After or RetryInfo: %v %s", w.Header(), w.Body)
			}
		}
		return codes, states, sim.Stats()
	}

	if codes, states, _ := run(geminisim.None()); codes[200] != 200 || states["BATCH_STATE_RUNNING"] != 200 {
		t.Errorf("without faults: %v %v", codes, states)
	}
	if codes, _, st := run(geminisim.Faults{APIErrors: 1}); codes[500] == 0 || codes[502] == 0 || codes[503] == 0 || codes[504] == 0 || st.APIErrors != 200 {
		t.Errorf("errors: %v %+v", codes, st)
	}
	if codes, _, st := run(geminisim.Faults{APIRateLimited: 1}); codes[429] != 200 || st.APIRateLimited != 200 {
		t.Errorf("rate limits: %v %+v", codes, st)
	}
	if _, states, st := run(geminisim.Faults{APIStale: 1}); states["BATCH_STATE_PENDING"] != 200 || st.APIStale != 200 {
		t.Errorf("stale: %v %+v", states, st)
	}
	if codes, states, st := run(geminisim.Faults{APIHollow: 1}); codes[200] != 200 || states[""] != 200 || st.APIHollow != 200 {
		t.Errorf("hollow: %v %v %+v", codes, states, st)
	}
	codes, states, st := run(geminisim.Harsh())
	if st.APIErrors < 5 || st.APIErrors > 40 || st.APIRateLimited < 5 || st.APIStale < 10 || st.APIHollow < 2 || codes[200] < 100 {
		t.Errorf("harsh: %v %v %+v", codes, states, st)
	}
}

func TestCreatesLost(t *testing.T) {
	t.Parallel()
	sim := geminisim.New(geminisim.Config{Faults: geminisim.Faults{CreatesLost: 1}})
	defer sim.Close()
	w := call(t, sim, "POST", "/v1beta/models/m:batchGenerateContent", `{"batch":{"inputConfig":{"fileName":"files/x"}}}`)
	if w.Code != 503 || len(sim.Batches()) != 1 || sim.Stats().APICreatesLost != 1 {
		t.Errorf("%d, %d batches, %+v", w.Code, len(sim.Batches()), sim.Stats())
	}
}
