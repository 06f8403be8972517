package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/function"
)

func init() { function.HTTP("Webhook", build) }

type settings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
	Webhook   config.Webhook
}

func build(ctx context.Context, s settings, log *slog.Logger) (http.Handler, error) {
	l, err := cloud.Ledger(ctx, s.Firestore, s.Topic, s.Ledger)
	if err != nil {
		return nil, err
	}
	return New(Options{Ledger: l, Verifier: s.Webhook.Verifier, Now: time.Now, Log: log}), nil
}
