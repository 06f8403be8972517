package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/httpfunc"
)

// Built at the start: a revision whose secrets are malformed must not take traffic.
func init() { httpfunc.RegisterAtStart("Webhook", build) }

type settings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
	Webhook   config.Webhook
}

// CheckSettings returns every problem that would keep the function from starting with environ, which is in the form
// of os.Environ, joined. It makes no request: of a secret it sees the name alone.
func CheckSettings(environ []string) error {
	_, err := config.Parse[settings](environ)
	return err
}

func build(ctx context.Context, s settings, log *slog.Logger) (http.Handler, error) {
	o := Options{Confirm: s.Webhook.Confirm, Timeout: s.Webhook.Timeout, Now: time.Now, Log: log}
	var err error
	if o.Ledger, err = cloud.Ledger(ctx, s.Firestore, s.Topic, s.Ledger); err != nil {
		return nil, err
	}
	o.Confirmer = confirm.New(confirm.Options{Ledger: o.Ledger, Gemini: connect(s.Webhook.Gemini), Now: time.Now})
	// Last, so that it is made once: a new gate knows of no gap between two questions to Secret Manager.
	if o.Gate, err = cloud.Gate(ctx, s.Webhook, time.Now(), log); errors.Is(err, gemini.ErrSecret) {
		err = fmt.Errorf("%w: %w", httpfunc.ErrSettings, err)
	}
	if err != nil {
		return nil, err
	}
	return New(o), nil
}

// connect returns what makes a client for Gemini when the first hint comes.
func connect(settings config.Gemini) func(context.Context) (*lookup.Client, error) {
	return func(ctx context.Context) (*lookup.Client, error) {
		key, err := cloud.GeminiKey(ctx, settings)
		if err != nil {
			return nil, err
		}
		// It outlives the request that happened to need it first.
		return lookup.NewClient(context.WithoutCancel(ctx), lookup.Options{APIKey: key, BaseURL: settings.BaseURL})
	}
}
