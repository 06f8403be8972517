package submit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// nightly submits the batch of a night. It may be started again any number of times, because the
// night's id is the same.
func nightly(ctx context.Context, night time.Time) (err error) {
	store, err := firestore.Open(ctx, os.Getenv("GOOGLE_CLOUD_PROJECT"), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	// The settings of the functions: what has ended before it is registered runs its effects, too.
	settings, err := config.Parse[struct{ Ledger config.Ledger }](os.Environ())
	if err != nil {
		return err
	}
	l, err := ledger.New(store, settings.Ledger.Settings(), ledger.Options{})
	if err != nil {
		return err
	}
	key := os.Getenv("GEMINI_API_KEY")
	client, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: key, Backend: genai.BackendGeminiAPI})
	if err != nil {
		return err
	}

	id := "reviews-" + night.Format(time.DateOnly) // the same at each start of one night's run
	submitter := submit.New(submit.Options{Intents: l.Intents, Operations: l.Operations, Gemini: client})
	submission := operation.Submission{CorrelationID: id, JobKind: "batch-review-classify"}
	source := &genai.BatchJobSource{FileName: "files/reviews"}
	submitted, err := submitter.Batch(ctx, submission, "gemini-3.5-flash", source, nil)
	switch {
	case errors.Is(err, submit.ErrUnregistered), errors.Is(err, submit.ErrUnanswered):
		fmt.Fprintln(os.Stderr, err) // its event, or reconciliation, registers it
		return nil
	case err != nil:
		return err // nothing was submitted now: start it again later
	}
	fmt.Println(submitted.Name)
	return nil
}

func Example() {
	if err := nightly(context.Background(), time.Now()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
