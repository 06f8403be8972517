package infra_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// theJob is the one job of a world, and thePart its first part.
const (
	theJob  operation.Key = "jobs/nightly"
	thePart operation.Key = "jobs/nightly/00001"
)

// An answering answers a request to Gemini in the place of Gemini; nil: Gemini answers.
type answering func(*http.Request) *http.Response

// RoundTrip implements [http.RoundTripper].
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	if a != nil {
		if answer := a(r); answer != nil {
			return answer, nil
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}

// refusing answers requests whose path contains a text with a status.
func refusing(path string, status int, word string) answering {
	return func(r *http.Request) *http.Response {
		if !strings.Contains(r.URL.Path, path) {
			return nil
		}
		return &http.Response{
			StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(`{"error":{"message":"refused by the test","status":"` + word + `"}}`)),
		}
	}
}

// steps are the handlers of the steps of jobs, with Gemini's answers.
func (w *world) steps(gemini answering) map[string]effect.Handler {
	w.Helper()
	o := steps.Options{Ledger: w.ledgerOf("effects"), Storage: w.kept(), Now: w.clock.Now, Log: w.log("effects")}
	to := api.Options{APIKey: "key", BaseURL: w.api.URL, HTTP: &http.Client{Transport: gemini}}
	var batchErr, resultErr, cancelErr error
	o.Batches, batchErr = batches.NewClient(to)
	o.Results, resultErr = results.New(to)
	o.Canceller, cancelErr = cancel.NewClient(to)
	if err := errors.Join(batchErr, resultErr, cancelErr); err != nil {
		w.Fatal(err)
	}
	return steps.Handlers(o)
}

// kept is where jobs keep their objects: where a program looks that has no other setting.
func (w *world) kept() storage.Storage {
	w.Helper()
	s, err := storage.Open(w.file+".jobs", "")
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// allTaken counts as many batches of others as a project may have.
func (w *world) allTaken() {
	w.Helper()
	others := make([]ledger.Listed, job.MostBatches)
	if _, err := w.ledger.Jobs.CountListed(w.Context(), w.clock.Now(), others); err != nil {
		w.Fatal(err)
	}
}

// hasJob submits the job, of one request, and lets the function split it.
func (w *world) hasJob() { w.hasJobOf(1, job.Options{}) }

// hasJobOf submits the job, of so many requests, and lets the function split it.
func (w *world) hasJobOf(requests int, options job.Options) {
	w.Helper()
	w.submittedJob(theJob, requests, options)
	w.step(job.StepSplit, nil)
}

// submittedJob submits a job of so many requests.
func (w *world) submittedJob(key operation.Key, requests int, options job.Options) {
	w.Helper()
	input := ""
	for i := range requests {
		input += fmt.Sprintf(`{"key":"review-%d","request":{"contents":[{"parts":[{"text":"Hi"}]}]}}`+"\n", i+1)
	}
	sum := sha256.Sum256([]byte(input))
	in := job.Input{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(input)), Requests: int64(requests)}
	options.Model = "gemini-3.5-flash"
	s := w.kept()
	_, err := s.Create(w.Context(), files.Input(key, in.SHA256), strings.NewReader(input))
	if err == nil {
		_, err = files.Accept(w.Context(), w.ledger, s, ledger.JobRequest{
			Key: key, Options: options, Input: in,
		})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// step runs the message about a step that was sent, with Gemini's answers, and returns it.
func (w *world) step(name string, gemini answering) ledger.Message {
	w.Helper()
	m := w.message(name)
	w.again(m, gemini)
	return m
}

// again runs a step.
func (w *world) again(m ledger.Message, gemini answering) {
	w.Helper()
	w.runOn(w.function(w.steps(gemini), false), m)
}

// startedAndEnded starts the job's batch, and ends it in a state.
func (w *world) startedAndEnded(state geminisim.State) {
	w.Helper()
	w.step(job.StepStart, nil)
	intent, err := w.ledger.Intents.Read(w.Context(), string(thePart))
	if err == nil {
		err = w.sim.SetState(string(intent.Operation), state)
	}
	if err != nil {
		w.Fatal(err)
	}
	w.lookUp(w.named(string(intent.Operation)))
}

// createdTwice has Gemini make a second batch of the part, which is bound before the first is answered.
func (w *world) createdTwice() answering {
	return func(r *http.Request) *http.Response {
		if !strings.HasSuffix(r.URL.Path, ":batchGenerateContent") {
			return nil
		}
		other := w.batch("another", geminisim.StateRunning)
		j, err := w.ledger.Jobs.Read(w.Context(), theJob)
		part, _, partErr := w.ledger.Jobs.Part(w.Context(), thePart)
		if err = errors.Join(err, partErr); err == nil {
			_, err = w.ledger.Jobs.Bind(w.Context(), part.Part, j.Job, other)
		}
		if err != nil {
			w.Error(err)
		}
		return nil
	}
}
