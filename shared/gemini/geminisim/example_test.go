package geminisim_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// A test can hold a batch in a state, and then change it.
func Example() {
	sim := geminisim.New(geminisim.Config{Seed: 1})
	defer sim.Close()
	srv := httptest.NewServer(sim.Handler())
	defer srv.Close()
	sim.Script("nightly", geminisim.Script{Hold: geminisim.StateRunning})

	ctx := context.Background()
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey:      "any",
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  srv.Client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: srv.URL},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	job, err := client.Batches.Create(ctx, "gemini-3.5-flash",
		&genai.BatchJobSource{FileName: "files/input"}, &genai.CreateBatchJobConfig{DisplayName: "nightly"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(job.State)

	if err := sim.SetState(job.Name, geminisim.StateSucceeded); err != nil {
		fmt.Println(err)
		return
	}
	sim.AnswerNext(geminisim.OpGet, "nightly", geminisim.ErrorAnswer(503, "later"))
	_, err = client.Batches.Get(ctx, job.Name, nil)
	fmt.Println(err != nil)
	job, err = client.Batches.Get(ctx, job.Name, nil)
	fmt.Println(job.State, err)
	// Output:
	// JOB_STATE_RUNNING
	// true
	// JOB_STATE_SUCCEEDED <nil>
}
