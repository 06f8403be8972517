package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// withRemedy adds to an error of the ledger which command helps.
func withRemedy(err error) error {
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return fmt.Errorf("%w; opledger list shows those it has", err)
	case errors.Is(err, ledger.ErrNoIntent):
		return fmt.Errorf("%w; opledger intent list shows those that wait for their operation", err)
	case errors.Is(err, ledger.ErrUnregistered):
		return fmt.Errorf("%w; opledger register NAME registers it", err)
	case errors.Is(err, ledger.ErrNoConflict):
		return fmt.Errorf("%w; opledger list --conflict shows those that have one", err)
	case errors.Is(err, ledger.ErrRegistered):
		return fmt.Errorf("%w; opledger list --unregistered shows those that are not", err)
	case errors.Is(err, ledger.ErrNewer):
		return fmt.Errorf("%w; use that revision, or a later one", err)
	default:
		return err
	}
}

// withIntentRemedy is for the name of an intent's document where the name of an operation belongs.
func withIntentRemedy(err error, n operationName) error {
	id, ok := strings.CutPrefix(string(n.Key), ledger.IntentsCollection+"/")
	if !ok || !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%s is no operation; opledger intent show %s shows that intent", phrase.Safe(string(n.Key)),
		phrase.ShellWord(id))
}

// withQuarantineRemedy adds which command lists the quarantined deliveries.
func withQuarantineRemedy(err error) error {
	if errors.Is(err, ledger.ErrNotFound) {
		return errors.New("no such delivery is in quarantine; opledger quarantine list shows those that are")
	}
	return err
}

// withWebhookRemedy adds to an error about a webhook at Gemini which command lists the webhooks.
func withWebhookRemedy(err error) error {
	var failure *webhooks.Error
	if errors.Is(err, webhooks.ErrID) || errors.As(err, &failure) && (failure.NotFound() || failure.Unanswered()) {
		return fmt.Errorf("%w; opledger webhook list shows the webhooks that there are", err)
	}
	return err
}

// noEffect says that an operation has no effect of that name, and suggests one of its effects or of
// others. more follows the name.
func noEffect(rec operation.Record, name, more string, others ...string) error {
	suggestion := diag.DidYouMean(name, append(slices.Sorted(maps.Keys(rec.Effects)), others...))
	if suggestion == "" {
		suggestion = "; opledger show " + phrase.ShellWord(string(rec.Key)) + " shows those it has"
	}
	return fmt.Errorf("%s has no effect %s%s%s", phrase.Safe(string(rec.Key)), diag.Quote(name), more, suggestion)
}
