package effects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/topic"
)

// Not the framework's kind for CloudEvents, which reads a body whole, however large, before it is
// asked. ServeHTTP takes the same requests.
func init() { httpfunc.Register("Effects", build) }

// settings have a topic for what an attempt leaves when its time is over.
type settings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
	Handlers  config.Handlers
	Results   config.Results
	Slots     config.Slots
}

func build(ctx context.Context, s settings, log *slog.Logger) (http.Handler, error) {
	documents, err := firestore.Open(ctx, s.Firestore.ProjectID, s.Firestore.Database)
	if err != nil {
		return nil, err
	}
	messages, err := topic.Open(ctx, s.Firestore.ProjectID, s.Topic.Name)
	if err != nil {
		return nil, errors.Join(err, documents.Close())
	}
	f, err := assemble(ctx, s, documents, messages, log)
	if err != nil {
		return nil, errors.Join(err, messages.Close(), documents.Close())
	}
	return f, nil
}

// assemble puts the function together over what is open.
func assemble(ctx context.Context, s settings, documents ledger.Store, messages ledger.Publisher, log *slog.Logger) (Function, error) {
	l, err := ledger.New(documents, s.Ledger.Settings(), ledger.Options{Publisher: messages})
	if err != nil {
		return Function{}, err
	}
	custom, err := Custom(ctx, log)
	if err != nil {
		return Function{}, fmt.Errorf("making the custom handlers: %w", err)
	}
	items, err := cloud.Results(ctx, s.Results)
	if err != nil {
		return Function{}, err
	}
	handlers, err := cloud.Handlers(ctx, s.Ledger.Effects, s.Handlers, effect.HandlerOptions{
		Log: log, Topics: effect.NewTopics(s.Firestore.ProjectID), Custom: custom, Ledger: l, Results: items, Now: time.Now,
	})
	if err != nil {
		return Function{}, err
	}
	return New(Options{
		Runner: effect.NewRunner(l, handlers), Paused: s.Handlers.Paused, Now: time.Now, Log: log,
		Concurrency: effect.Concurrency(s.Ledger.Effects), Slots: s.Slots.Requests,
	}), nil
}
