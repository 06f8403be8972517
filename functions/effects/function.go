package effects

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/function"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
)

func init() { function.CloudEvent("Effects", build) }

// settings have no topic: this function plans nothing, so it publishes nothing and does not link Pub/Sub.
type settings struct {
	Firestore config.Firestore
	Ledger    config.Ledger
	Handlers  config.Handlers
}

func build(ctx context.Context, s settings, log *slog.Logger) (func(context.Context, event.Event) error, error) {
	documents, err := firestore.Open(ctx, s.Firestore.ProjectID, s.Firestore.Database)
	if err != nil {
		return nil, err
	}
	l, err := ledger.New(documents, s.Ledger.Settings(), ledger.Options{})
	if err != nil {
		return nil, errors.Join(err, documents.Close())
	}
	handlers := effect.Handlers(s.Ledger.Effects, effect.HandlerOptions{
		Log: log, AllowPrivate: s.Handlers.AllowPrivate, Now: time.Now,
	})
	return New(Options{Runner: effect.NewRunner(l, handlers), Now: time.Now, Log: log}).CloudEvent, nil
}
