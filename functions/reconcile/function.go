package reconcile

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/function"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/reconcile"
)

func init() { function.HTTP("Reconcile", build) }

type settings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
	Gemini    config.Gemini
}

func build(ctx context.Context, s settings, log *slog.Logger) (http.Handler, error) {
	key, err := cloud.GeminiKey(ctx, s.Gemini)
	if err != nil {
		return nil, err
	}
	l, err := cloud.Ledger(ctx, s.Firestore, s.Topic, s.Ledger)
	if err != nil {
		return nil, err
	}
	client, err := lookup.NewClient(ctx, lookup.Options{APIKey: key, BaseURL: s.Gemini.BaseURL})
	if err != nil {
		return nil, err
	}
	reconciler := reconcile.New(l, client, reconcile.DefaultBudget, log)
	return New(Options{Reconciler: reconciler, Now: time.Now, Log: log}), nil
}
