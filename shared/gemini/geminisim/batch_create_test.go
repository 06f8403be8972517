package geminisim_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// TestRefusedCreate: a creation from an uploaded file is refused without a batch, and no other one is.
func TestRefusedCreate(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{RefusedCreate: 1}, CountKeys: true})
	create(t, client, "not uploaded here")
	file := upload(t, client, asks(1)[0])
	_, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name}, nil)
	wantAPIError(t, err, 400, "INVALID_ARGUMENT")
	if n := sim.Stats().CreatesRefused; n != 1 || len(sim.Batches()) != 1 || sim.Sent("review-1") != 0 {
		t.Errorf("%d refusals, %d batches, sent %d times", n, len(sim.Batches()), sim.Sent("review-1"))
	}
}

// TestCreatesLimited: a creation from an uploaded file is answered 429, and makes no batch.
func TestCreatesLimited(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{CreatesLimited: 1}})
	create(t, client, "not uploaded here")
	file := upload(t, client, asks(1)[0])
	_, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name}, nil)
	wantAPIError(t, err, 429, "RESOURCE_EXHAUSTED")
	if n := sim.Stats().APIRateLimited; n != 1 || len(sim.Batches()) != 1 {
		t.Errorf("%d are counted, %d batches", n, len(sim.Batches()))
	}
}

// TestCreatesDenied: a creation from an uploaded file is answered as with a key that is not valid, and makes no batch.
func TestCreatesDenied(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{CreatesDenied: 1}})
	create(t, client, "not uploaded here")
	file := upload(t, client, asks(1)[0])
	_, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name}, nil)
	wantAPIError(t, err, 400, "INVALID_ARGUMENT")
	if refused, _ := errors.AsType[genai.APIError](err); len(refused.Details) != 1 ||
		refused.Details[0]["reason"] != "API_KEY_INVALID" {
		t.Errorf("the details are %v", refused.Details)
	}
	if n := sim.Stats().CreatesDenied; n != 1 || len(sim.Batches()) != 1 {
		t.Errorf("%d are counted, %d batches", n, len(sim.Batches()))
	}
}

// TestRefusedBatch: a batch may be created, and FAILED because of what it asks.
func TestRefusedBatch(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{RefusedBatch: 1}, Speed: 1e6})
	create(t, client, "not uploaded here")
	file := upload(t, client, asks(1)[0])
	job, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, sim, func(st geminisim.Stats) bool { return st.Settled == 2 })
	if got := show(t, sim, job.Name); got.Metadata.State != geminisim.StateFailed || got.Error.Code != 3 ||
		got.Metadata.BatchStats["failedRequestCount"] != "1" || got.Metadata.Output != nil {
		t.Errorf("%+v", got)
	}
	if n := sim.Stats().BatchesRefused; n != 1 || sim.Batches()[0].State != geminisim.StateSucceeded {
		t.Errorf("%d are refused: %+v", n, sim.Batches())
	}
}

// TestPoison: a batch with the text is always refused, at its creation or as its end, and without it
// never.
func TestPoison(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Poison: "poison", Speed: 1e6})
	atOnce, created := 0, 0
	for i := range 20 {
		file := upload(t, client, asks(1)[0]+"\n"+`{"key":"bad","request":{"contents":["some poison"]}}`)
		_, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name}, nil)
		if err != nil {
			wantAPIError(t, err, 400, "INVALID_ARGUMENT")
			atOnce++
		} else {
			created++
		}
		ask(t, sim, client, fmt.Sprint("healthy-", i), geminisim.StateSucceeded, asks(1)...)
	}
	wait(t, sim, func(st geminisim.Stats) bool { return st.Settled == 20+created })
	if st := sim.Stats(); atOnce == 0 || created == 0 || st.CreatesRefused != atOnce || st.BatchesRefused != created {
		t.Errorf("%d refused at once, %d as their end: %+v", atOnce, created, st)
	}
}

// TestCreatesTwice: one request makes two batches, and the answer names one of them.
func TestCreatesTwice(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{CreatesTwice: 1}, CountKeys: true})
	named := map[int]int{}
	for i := range 20 {
		file := upload(t, client, fmt.Sprintf(`{"key":"%d","request":{}}`, i))
		job, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name},
			&genai.CreateBatchJobConfig{DisplayName: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		batches := sim.Batches()
		if len(batches) != 2*i+2 || batches[2*i].DisplayName != batches[2*i+1].DisplayName || sim.Sent(fmt.Sprint(i)) != 2 {
			t.Fatalf("after %d creations: %+v", i+1, batches)
		}
		for place := range 2 {
			if batches[2*i+place].Name == job.Name {
				named[place]++
			}
		}
	}
	if named[0] == 0 || named[1] == 0 || named[0]+named[1] != 20 || sim.Stats().CreatesTwice != 20 {
		t.Errorf("the answers name %v", named)
	}
}

// TestCreatesSlow: a creation takes its time before or after the batch is there, also where its caller
// has left.
func TestCreatesSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := geminisim.New(geminisim.Config{Faults: geminisim.Faults{CreatesSlow: 1, CreatesSlowBy: time.Hour}})
		defer sim.Close()
		sim.Script("slow", geminisim.Script{Hold: geminisim.StateRunning})
		before, after := 0, 0
		for range 20 {
			ctx, leave := context.WithCancel(t.Context())
			began, existing, answered := time.Now(), len(sim.Batches()), make(chan struct{})
			go func() {
				defer close(answered)
				r := httptest.NewRequestWithContext(ctx, "POST", "/v1beta/models/m:batchGenerateContent",
					strings.NewReader(`{"batch":{"displayName":"slow","inputConfig":{"fileName":"files/x"}}}`))
				r.Header.Set("X-Goog-Api-Key", "key")
				sim.ServeHTTP(httptest.NewRecorder(), r)
			}()
			synctest.Wait()
			leave()
			if len(sim.Batches()) > existing {
				after++
			} else {
				before++
			}
			<-answered
			if took := time.Since(began); took <= 0 || took > time.Hour || len(sim.Batches()) != existing+1 {
				t.Errorf("it took %v, and %d batches are there", took, len(sim.Batches()))
			}
		}
		if before == 0 || after == 0 || sim.Stats().CreatesSlow != 20 {
			t.Errorf("slow before %d and after %d", before, after)
		}
	})
}

// TestScriptedCreation: faults of a creation are those of its label, where it has some.
func TestScriptedCreation(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	sim.ScriptPrefix("opledger:jobs/nightly/", geminisim.Script{Faults: &geminisim.Faults{RefusedCreate: 1}})
	file := upload(t, client, asks(1)[0])
	for label, refused := range map[string]bool{"opledger:jobs/nightly/00001": true, "opledger:jobs/other/00001": false} {
		_, err := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: file.Name},
			&genai.CreateBatchJobConfig{DisplayName: label})
		if (err != nil) != refused {
			t.Errorf("%s: %v", label, err)
		}
	}
}
