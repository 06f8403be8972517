package submit_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// TestSubmit: the operation runs once, carries the correlation id, and is registered with it [G6,
// K6, L2].
func TestSubmit(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		job := operation.Submission{CorrelationID: "c-1", JobKind: "nightly", Metadata: `{"day":"2026-11-21"}`}
		got, err := k.submit(w, job)
		if err != nil {
			t.Fatal(err)
		}
		truth := k.truth(w.sim)
		if len(truth) != 1 || truth[0].Name != got.Name || truth[0].UserMetadata[gemini.CorrelationKey] != "c-1" {
			t.Fatalf("Gemini has %+v, submitted is %+v", truth, got)
		}
		r := got.Registered.Record
		if got.Known || !got.Registered.Created || r.CorrelationID != "c-1" || r.JobKind != "nightly" ||
			r.Metadata != job.Metadata ||
			r.Key.Collection() != k.collection ||
			r.SubmittedAt.IsZero() {
			t.Errorf("%+v", got)
		}
		w.wantRegistered(got.Name)
		w.wantIntent("")
	})
}

// TestSubmitMakesAnID: without an id of the caller's own it is a new one, and two jobs are two
// operations.
func TestSubmitMakesAnID(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, w *world, k kind) {
		first, err := k.submit(w, operation.Submission{})
		if err != nil {
			t.Fatal(err)
		}
		second, err := k.submit(w, operation.Submission{})
		if err != nil {
			t.Fatal(err)
		}
		if first.CorrelationID == "" || first.CorrelationID == second.CorrelationID || first.Name == second.Name ||
			len(k.truth(w.sim)) != 2 {
			t.Errorf("%+v, %+v", first, second)
		}
	})
}

// TestIDsOfTheCallersMaking: where the caller makes the unique texts, the id is one of them.
func TestIDsOfTheCallersMaking(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submitter = submit.New(submit.Options{Intents: w.registrar, Operations: w.registrar,
		Nonce: func() string { return "own" }})
	got, err := w.submitter.Submit(t.Context(), operation.Submission{}, operation.Batches,
		func(context.Context, submit.Mark) (string, error) { return "batches/a", nil })
	if err != nil || got.CorrelationID != "own" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestConfigurationsHold: the caller's configuration is sent with the mark, and is not changed.
func TestConfigurationsHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const url = "https://hooks.example/opledger"
	own := map[string]any{"team": "reviews"}
	webhook := &genai.WebhookConfig{Uris: []string{url}, UserMetadata: own}
	batch := &genai.CreateBatchJobConfig{DisplayName: "nightly", WebhookConfig: webhook}
	video := &genai.GenerateVideosConfig{
		AspectRatio: "16:9", WebhookConfig: webhook, HTTPOptions: &genai.HTTPOptions{}, // the client's address holds
	}
	input := interactions.NewInteractionsInput("why?")
	yes, no := true, false
	asked := interactions.CreateModelInteraction{
		Model: model, Input: &input, Background: &no, Store: &no, Stream: &no,
		WebhookConfig: &interactions.WebhookConfig{Uris: []string{url}, UserMetadata: own},
	}
	agent := interactions.CreateAgentInteraction{
		Agent:         "deep-research",
		Input:         asked.Input,
		WebhookConfig: asked.WebhookConfig,
		Background:    &yes,
		Stream:        &no,
	}
	var bodies []map[string]any
	w.http.Transport = watching{w.http.Transport, func(body map[string]any) { bodies = append(bodies, body) }}

	job := operation.Submission{CorrelationID: "c"}
	var errs [4]error
	_, errs[0] = w.submitter.Batch(t.Context(), job, model, &genai.BatchJobSource{FileName: "files/x"}, batch)
	job.CorrelationID = "v"
	_, errs[1] = w.submitter.Video(t.Context(), job, "veo", &genai.GenerateVideosSource{Prompt: "p"}, video)
	job.CorrelationID = "i"
	_, errs[2] = w.submitter.Interaction(t.Context(), job, operations.NewCreateInteractionRequestBody(asked))
	job.CorrelationID = "a"
	_, errs[3] = w.submitter.Interaction(t.Context(), job, operations.NewCreateInteractionRequestBody(agent))
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, where := range [][]string{{"batch", "webhookConfig"}, {"webhookConfig"}, {"webhook_config"},
		{"webhook_config"}} {
		config := bodies[i]
		for _, field := range where {
			config, _ = config[field].(map[string]any)
		}
		metadata, _ := config["userMetadata"].(map[string]any)
		if metadata == nil {
			metadata, _ = config["user_metadata"].(map[string]any)
		}
		uris, _ := config["uris"].([]any)
		if len(uris) != 1 || uris[0] != url || metadata["team"] != "reviews" ||
			metadata[gemini.CorrelationKey] != []string{"c", "v", "i", "a"}[i] {
			t.Errorf("sent %v", bodies[i])
		}
	}
	for _, body := range bodies[2:] {
		if body["background"] != true || body["store"] != true {
			t.Errorf("sent %v", body)
		}
	}
	if name := w.sim.Batches()[0].DisplayName; name != "nightly opledger:c" {
		t.Errorf("the display name is %q", name)
	}
	if len(own) != 1 || batch.DisplayName != "nightly" || batch.HTTPOptions != nil || *asked.Store {
		t.Errorf("the caller's values were changed: %v, %+v", own, batch)
	}
}

// watching records the body of every POST.
type watching struct {
	http.RoundTripper
	see func(map[string]any)
}

func (w watching) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		body, err := r.GetBody()
		var sent map[string]any
		if err == nil {
			err = json.NewDecoder(body).Decode(&sent)
		}
		if err != nil {
			return nil, err
		}
		w.see(sent)
	}
	return w.RoundTripper.RoundTrip(r)
}

// TestNothingIsSentOfWhatIsNoJob: an invalid job leaves no intent and no request.
func TestNothingIsSentOfWhatIsNoJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, s := t.Context(), w.submitter
	file := &genai.BatchJobSource{FileName: "files/x"}
	yes := true
	streamed := question("why?")
	streamed.CreateModelInteraction.Stream = &yes
	inTheClear := &genai.HTTPOptions{BaseURL: "http://elsewhere"}
	for what, do := range map[string]func() (submit.Submitted, error){
		"a batch elsewhere in clear text": func() (submit.Submitted, error) {
			return s.Batch(ctx, operation.Submission{}, model, file, &genai.CreateBatchJobConfig{HTTPOptions: inTheClear})
		},
		"a video elsewhere in clear text": func() (submit.Submitted, error) {
			return s.Video(ctx, operation.Submission{}, "veo", &genai.GenerateVideosSource{},
				&genai.GenerateVideosConfig{HTTPOptions: inTheClear})
		},
		"no model":  func() (submit.Submitted, error) { return s.Batch(ctx, operation.Submission{}, "", file, nil) },
		"no source": func() (submit.Submitted, error) { return s.Batch(ctx, operation.Submission{}, model, nil, nil) },
		"no requests": func() (submit.Submitted, error) {
			return s.Batch(ctx, operation.Submission{}, model, &genai.BatchJobSource{}, nil)
		},
		"both": func() (submit.Submitted, error) {
			return s.Batch(ctx, operation.Submission{}, model, &genai.BatchJobSource{FileName: "files/x",
				InlinedRequests: make([]*genai.InlinedRequest, 1)}, nil)
		},
		"no veo": func() (submit.Submitted, error) {
			return s.Video(ctx, operation.Submission{}, "", &genai.GenerateVideosSource{}, nil)
		},
		"no video": func() (submit.Submitted, error) { return s.Video(ctx, operation.Submission{}, "veo", nil, nil) },
		"no body": func() (submit.Submitted, error) {
			return s.Interaction(ctx, operation.Submission{}, operations.CreateInteractionRequestBody{})
		},
		"streamed": func() (submit.Submitted, error) { return s.Interaction(ctx, operation.Submission{}, streamed) },
	} {
		if _, err := do(); err == nil {
			t.Errorf("%s: no error", what)
		} else {
			w.wantError(err, submit.ErrInput)
		}
	}
	for _, k := range kinds {
		for _, id := range []string{"two words", strings.Repeat("c", 101), "\x1b[31m"} {
			_, err := k.submit(w, operation.Submission{CorrelationID: id})
			w.wantError(err, gemini.ErrCorrelationID)
		}
		_, err := k.submit(w, operation.Submission{Metadata: operation.Metadata(`[1]`)})
		w.wantError(err, operation.ErrSubmission)
	}
	w.wantIntent("")
	if n := w.sim.Stats().APIRequests; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// TestOneOperationIsOneID: where another caller has registered another operation under the id
// meanwhile, both are registered and the submitter is told [K6].
func TestOneOperationIsOneID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := operation.Submission{CorrelationID: "c"}
	got, err := w.submitter.Submit(
		t.Context(),
		job,
		operation.Batches,
		func(ctx context.Context, mark submit.Mark) (string, error) {
			_, err := w.ledger.Operations.Register(ctx, ledger.Registration{
				Name:       operation.Name{Key: "batches/other", Resource: "batches/other"},
				Submission: operation.Submission{CorrelationID: mark.CorrelationID},
			})
			return "batches/mine", err
		},
	)
	if err != nil || got.Name != "batches/mine" || !errors.Is(got.Registered.CorrelationErr, ledger.ErrCorrelation) {
		t.Errorf("%+v, %v", got, err)
	}
	w.wantRegistered("batches/other", "batches/mine")
}
