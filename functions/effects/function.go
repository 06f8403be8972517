package effects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/function"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
)

func init() { function.CloudEvent("Effects", build) }

// settings have no topic: this function plans nothing, so it hands nothing over.
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
	custom, err := Custom(ctx, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the custom handlers: %w", err), documents.Close())
	}
	handlers, err := cloud.Handlers(ctx, s.Ledger.Effects, s.Handlers, effect.HandlerOptions{
		Log: log, Topics: effect.NewTopics(s.Firestore.ProjectID), Custom: custom, Now: time.Now,
	})
	if err != nil {
		return nil, errors.Join(err, documents.Close())
	}
	return New(Options{Runner: effect.NewRunner(l, handlers), Paused: s.Handlers.Paused, Now: time.Now, Log: log}).CloudEvent, nil
}
