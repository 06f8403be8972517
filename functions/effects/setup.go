package effects

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
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/pubsub"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/job/steps"
)

// The framework's own kind for CloudEvents would read a body whole, however large it is. ServeHTTP
// accepts the same requests.
func init() { httpfunc.Register("Effects", build) }

// settings have a topic, to continue a run whose time is over.
type settings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
	Handlers  config.Handlers
	Results   config.Results
	Jobs      config.Jobs
	Instance  config.Instance
}

// Warnings reports the effects whose URLs seem to hold a secret.
func (s settings) Warnings() error { return config.PlainSecrets(s.Ledger) }

func build(ctx context.Context, s settings, log *slog.Logger) (http.Handler, error) {
	custom, err := Custom(ctx, log)
	if err != nil {
		return nil, fmt.Errorf("making the custom handlers: %w", err)
	}
	jobs, err := cloud.JobStorage(s.Jobs.In(s.Firestore.Store), s.Handlers)
	if err != nil {
		return nil, err
	}
	o := kinds.Options{Log: log, Topics: pubsub.NewTopics(s.Firestore.ProjectID), Custom: custom, Now: time.Now}
	if o.Results, err = cloud.Results(ctx, s.Results, jobs); err != nil {
		return nil, err
	}
	var closeLedger func() error
	if o.Ledger, closeLedger, err = connect.Ledger(ctx, s.Firestore, s.Topic, s.Ledger, log); err != nil {
		return nil, err
	}
	handlers, err := cloud.Handlers(ctx, s.Ledger.Effects, s.Handlers, o)
	if err == nil {
		err = cloud.AddSteps(ctx, handlers, s.Results.Gemini, steps.Options{
			Ledger: o.Ledger, Storage: jobs, Results: o.Results, Now: o.Now, Log: log,
		})
	}
	if err != nil {
		return nil, errors.Join(err, closeLedger()) // the function is built again at the next request
	}
	connect.StoreSettings(ctx, o.Ledger, s.Ledger, "effects", log)
	return New(Options{
		Runner: effect.NewRunner(o.Ledger, handlers), Paused: s.Handlers.Paused, Now: time.Now, Log: log,
		Concurrency: steps.Concurrency(spec.Concurrency(s.Ledger.Effects)), Slots: s.Instance.Slots,
		Timeout: s.Instance.Timeout,
	}), nil
}
