// Command submit is an example: it submits a job to Gemini, once for its id however often it is
// started.
//
//	go run ./scripts/examples/go/submit batch files/reviews reviews-2026-11-22
//	go run ./scripts/examples/go/submit video 'a cat on a train' cat-17
//	go run ./scripts/examples/go/submit interaction 'Summarise the reviews' summary-2026-11
//
// The last word is an id of your own, which no other job has. The command writes to the ledger
// itself, and needs the variables of the functions.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"time"

	"google.golang.org/genai"
	"google.golang.org/genai/interactions/models/interactions"
	"google.golang.org/genai/interactions/models/operations"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

const (
	model      = "gemini-3.5-flash"
	videoModel = "veo-3.1-generate-preview"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// settings are those of the functions: an operation that has ended before it is registered plans its
// effects, too.
type settings struct {
	Project config.Project
	Place   config.Place
	Ledger  config.Ledger
	Gemini  config.Gemini
}

func run(ctx context.Context, args []string) (err error) {
	if len(args) != 3 {
		return errors.New("usage: submit batch FILE ID | video PROMPT ID | interaction TEXT ID")
	}
	s, err := config.Parse[settings](os.Environ())
	if err != nil {
		return err
	}
	store, err := openStore(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	submitter, err := newSubmitter(ctx, s, store)
	if err != nil {
		return err
	}
	kind, what, id := args[0], args[1], args[2]
	said := operation.Submission{CorrelationID: id, JobKind: "example-" + kind}
	submitted, err := create(ctx, submitter, said, kind, what)
	switch {
	case errors.Is(err, submit.ErrUnregistered), errors.Is(err, submit.ErrUnanswered):
		return fmt.Errorf("%w; its event or a reconcile pass registers it", err)
	case err != nil:
		return err // nothing was submitted now: start it again later
	case submitted.Known:
		fmt.Println(submitted.Name, "was submitted before")
	default:
		fmt.Println(submitted.Name, "submitted")
	}
	return nil
}

// create submits the job. The submitter adds the correlation id to what it sends, and sends it once.
func create(
	ctx context.Context, to *submit.Submitter, said operation.Submission, kind, what string,
) (submit.Submitted, error) {
	switch kind {
	case "batch":
		config := &genai.CreateBatchJobConfig{DisplayName: "reviews"}
		return to.Batch(ctx, said, model, &genai.BatchJobSource{FileName: what}, config)
	case "video":
		return to.Video(ctx, said, videoModel, &genai.GenerateVideosSource{Prompt: what}, nil)
	case "interaction":
		input := interactions.NewInteractionsInput(what)
		return to.Interaction(ctx, said, operations.NewCreateInteractionRequestBody(
			interactions.CreateModelInteraction{Model: model, Input: &input},
		))
	default:
		return submit.Submitted{}, fmt.Errorf("%q is no kind of job; there are batch, video and interaction", kind)
	}
}

func openStore(ctx context.Context, s settings) (ledger.Store, error) {
	place, err := s.Place.Store.In(s.Project)
	if err != nil {
		return nil, err
	}
	if place.IsFile() {
		return sqlite.Open(ctx, place.SQLite, time.Now)
	}
	return firestore.Open(ctx, s.Project.ID, place.Database)
}

func newSubmitter(ctx context.Context, s settings, store ledger.Store) (*submit.Submitter, error) {
	l, err := ledger.New(store, s.Ledger.Settings(), ledger.Options{})
	if err != nil {
		return nil, err
	}
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: s.Gemini.APIKey, Backend: genai.BackendGeminiAPI,
		HTTPClient: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // another host would get the key
		}},
		HTTPOptions: genai.HTTPOptions{BaseURL: s.Gemini.BaseURL},
	})
	if err != nil {
		return nil, err
	}
	return submit.New(submit.Options{Intents: l.Intents, Operations: l.Operations, Gemini: client}), nil
}
