package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/cloud/connect"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/httpfunc"
)

// It is built at the start, so that a revision whose secrets are malformed gets no traffic.
func init() { httpfunc.RegisterAtStart("Webhook", build) }

// Settings are those of the deployed function.
type Settings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
	Webhook   config.Webhook
}

func build(ctx context.Context, s Settings, log *slog.Logger) (http.Handler, error) {
	o := Options{Confirm: s.Webhook.Confirm, Timeout: s.Webhook.Timeout, Now: time.Now, Log: log}
	var err error
	if o.Ledger, _, err = connect.Ledger(ctx, s.Firestore, s.Topic, s.Ledger, log); err != nil {
		return nil, err
	}
	o.Confirmer = cloud.Confirmer(o.Ledger, s.Webhook.Gemini)
	// The gate is built last, so that it is built once: each gate spaces its own requests to Secret
	// Manager.
	if o.Gate, err = cloud.Gate(ctx, s.Webhook, time.Now(), log); errors.Is(err, gemini.ErrSecret) {
		err = fmt.Errorf("%w: %w", httpfunc.ErrSettings, err)
	}
	if err != nil {
		return nil, err
	}
	connect.StoreSettings(ctx, o.Ledger, s.Ledger, "webhook", log)
	return New(o), nil
}
