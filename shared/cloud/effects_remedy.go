package cloud

import (
	"errors"
	"fmt"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect/custom"
	"github.com/opledger/opledger/shared/effect/http"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/effect/pubsub"
	"github.com/opledger/opledger/shared/storage"
)

// A remedy is what an operator changes about an error of the effects, which know no variables.
type remedy struct {
	of   error
	what string
}

func remedies() []remedy {
	return []remedy{
		{http.ErrPrivateAddress, "OPLEDGER_EFFECT_ALLOW_PRIVATE=true allows it"},
		{pubsub.ErrNoProject, "or set GOOGLE_CLOUD_PROJECT"},
		{custom.ErrNoHandler, "add it in functions/effects/custom.go"},
		{pubsub.ErrNoTopic, "create it with gcloud pubsub topics create, or correct its name"},
		{storage.ErrNoBucket, "create it with gcloud storage buckets create, or correct its name"},
		{http.ErrNoHost, "correct the effect's url"},
		{items.ErrNoAPIKey, "set GEMINI_API_KEY, or OPLEDGER_GEMINI_API_KEY_SECRET to the name of its secret"},
	}
}

// withRemedy adds the remedy to an error, if there is one.
func withRemedy(err error) error {
	for _, r := range remedies() {
		if errors.Is(err, r.of) {
			return fmt.Errorf("%w; %s", err, r.what)
		}
	}
	return err
}

// handlerErrors returns the problems of kinds.Handlers, each with its variable and remedy.
func handlerErrors(err error) error {
	problems := diag.Split(err)
	for i, problem := range problems {
		problems[i] = fmt.Errorf("OPLEDGER_EFFECTS: %w", withRemedy(problem))
	}
	return errors.Join(problems...)
}
