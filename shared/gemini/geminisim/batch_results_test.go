package geminisim_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

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
	job, err := client.Batches.Create(
		t.Context(), "gemini-3.5-flash", src, &genai.CreateBatchJobConfig{DisplayName: "inline"},
	)
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
	keys := map[string]bool{}
	for _, item := range job.Dest.InlinedResponses {
		keys[item.Metadata["key"]] = true
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
	again, err := client.Batches.Get(t.Context(), job.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for i, item := range again.Dest.InlinedResponses {
		if item.Metadata["key"] != job.Dest.InlinedResponses[i].Metadata["key"] {
			moved++
		}
	}
	if len(keys) != 20 || !keys["review-0"] || !keys["review-19"] || moved < 10 {
		t.Errorf("%d keys, of which %d are elsewhere at the second read", len(keys), moved)
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
