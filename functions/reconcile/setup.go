package reconcile

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/cloud/connect"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/reconcile"
)

func init() { httpfunc.Register("Reconcile", build) }

// Settings are those of the deployed function.
type Settings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
	Gemini    config.Gemini
	Discovery config.Discovery
	Endpoint  config.Endpoint
	Signing   config.SigningSecrets
	Pause     config.Pause
	Jobs      config.Jobs // a pass needs none; opledger environment prints what Reconcile is deployed with
}

func build(ctx context.Context, s Settings, log *slog.Logger) (http.Handler, error) {
	o, err := cloud.Reconciler(ctx, cloud.Reconcile{
		Gemini: s.Gemini, Discovery: s.Discovery, Endpoint: s.Endpoint, Signing: s.Signing,
	}, log)
	if err != nil {
		return nil, err
	}
	o.Effects = func() ledger.Pause { return ledger.PauseOf(s.Pause.Paused) }
	if o.Ledger, _, err = connect.Ledger(ctx, s.Firestore, s.Topic, s.Ledger, log); err != nil {
		return nil, err
	}
	connect.StoreSettings(ctx, o.Ledger, s.Ledger, "reconcile", log)
	return New(Options{Reconciler: reconcile.New(o), Now: time.Now, Log: log}), nil
}
