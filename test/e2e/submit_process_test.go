package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// The steps of submitting at which a submitter stops, to be killed.
const (
	beforeIntent   = "before the intent"
	afterIntent    = "after the intent"
	beforeCreate   = "before the creation is sent"
	beforeAnswer   = "after the creation was carried out, before its answer arrives"
	beforeRegister = "before the registration"
	afterRegister  = "after the registration"
)

var steps = []string{beforeIntent, afterIntent, beforeCreate, beforeAnswer, beforeRegister, afterRegister}

// A submission is one run of a submitter, as its process is told by its environment.
type submission struct{ kind, step, store, gemini, correlation string }

// intentsGivenUpAfter leaves the processes of a test the time to come to their steps.
const intentsGivenUpAfter = 10 * time.Second

const submissionVariable = "OPLEDGER_E2E_SUBMITTER"

// stopped is what a submitter says on stdout when it has come to its step.
const stopped = "the submitter stops here"

// startSubmitter starts this test's own program as a submitter.
func startSubmitter(t *testing.T, s submission) (*process, error) {
	p := newProcess(s.correlation)
	p.command = exec.Command(os.Args[0])
	p.command.Env = []string{
		"TMPDIR=" + t.TempDir(), submissionVariable + "=" + s.kind, "STEP=" + s.step, "STORE=" + s.store,
		"GOOGLE_GEMINI_BASE_URL=" + s.gemini, "CORRELATION=" + s.correlation,
	}
	return p, p.start(func(line string) {
		if line == stopped {
			close(p.ready)
		}
	}, p.logged)
}

// runSubmitter is what a submitter's process runs, instead of tests.
func runSubmitter(kind string) (code int) {
	s := submission{
		kind: kind, step: os.Getenv("STEP"), store: os.Getenv("STORE"),
		gemini: os.Getenv("GOOGLE_GEMINI_BASE_URL"), correlation: os.Getenv("CORRELATION"),
	}
	if err := s.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// at stops the process for good if this is its step.
func (s submission) at(step string) {
	if s.step == step {
		fmt.Println(stopped)
		select {} // until it is killed
	}
}

// run submits as a user's program does, with the SDK's real client.
func (s submission) run(ctx context.Context) error {
	store, err := sqlite.Open(ctx, s.store, time.Now)
	if err != nil {
		return err
	}
	settings := ledger.DefaultSettings() // but for the short times of the fleet: who writes says when a document is due
	settings.Grace, settings.StuckAfter = 500*time.Millisecond, intentsGivenUpAfter
	l, err := ledger.New(store, settings, ledger.Options{})
	if err != nil {
		return err
	}
	gemini, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: "submitter", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: stoppingTransport{s}},
	})
	if err != nil {
		return err
	}
	submitter := submit.New(submit.Options{
		Intents: stoppingIntents{l.Intents, s}, Operations: stoppingOperations{l.Operations, s}, Gemini: gemini,
	})
	job := operation.Submission{CorrelationID: s.correlation, JobKind: "e2e"}
	switch s.kind {
	case "batch":
		_, err = submitter.Batch(ctx, job, "gemini-3.5-flash", &genai.BatchJobSource{FileName: "files/input"}, nil)
	case "video":
		_, err = submitter.Video(ctx, job, "veo-3.1", &genai.GenerateVideosSource{Prompt: s.correlation}, nil)
	case "interaction":
		input := interactions.NewInteractionsInput(s.correlation)
		_, err = submitter.Interaction(
			ctx,
			job,
			operations.NewCreateInteractionRequestBody(interactions.CreateModelInteraction{
				Model: "gemini-3.5-flash", Input: &input,
			}),
		)
	}
	return errors.Join(err, store.Close())
}

// label is the simulator's for the submission's job.
func (s submission) label() string {
	if s.kind == "batch" {
		return "opledger:" + s.correlation
	}
	return s.correlation
}

// truth is the submission's operation at Gemini, if it has one.
func (s submission) truth(sim *geminisim.Sim) (found []geminisim.OperationInfo) {
	for _, operations := range [][]geminisim.OperationInfo{sim.Batches(), sim.Videos(), sim.Interactions()} {
		for _, o := range operations {
			if o.DisplayName == s.label() {
				found = append(found, o)
			}
		}
	}
	return found
}

// success is the state in which the kind of job succeeds, and running that in which it is held
// until then.
func (s submission) success() (running, success geminisim.State) {
	switch s.kind {
	case "batch":
		return geminisim.StateRunning, geminisim.StateSucceeded
	case "video":
		return geminisim.VideoRunning, geminisim.VideoSucceeded
	default:
		return geminisim.InteractionInProgress, geminisim.InteractionCompleted
	}
}

// The process may stop before and behind each step of stoppingIntents and stoppingOperations.
type (
	stoppingIntents struct {
		ledger.Intents
		submission
	}
	stoppingOperations struct {
		ledger.Operations
		submission
	}
)

func (r stoppingIntents) Intend(ctx context.Context, i ledger.Intention) (ledger.Intent, error) {
	r.at(beforeIntent)
	intent, err := r.Intents.Intend(ctx, i)
	if err == nil {
		r.at(afterIntent)
	}
	return intent, err
}

func (r stoppingOperations) Register(ctx context.Context, one ledger.Registration) (ledger.Registered, error) {
	r.at(beforeRegister)
	registered, err := r.Operations.Register(ctx, one)
	if err == nil {
		r.at(afterRegister)
	}
	return registered, err
}

// A stoppingTransport may stop the process before a request is sent, and before its answer is seen.
type stoppingTransport struct{ submission }

func (s stoppingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	s.at(beforeCreate)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusOK {
		s.at(beforeAnswer)
	}
	return response, err
}
