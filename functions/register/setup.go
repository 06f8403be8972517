package register

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/cloud/connect"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/httpfunc"
)

func init() { httpfunc.Register("Register", build) }

// Settings are those of the deployed function.
type Settings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
}

func build(ctx context.Context, s Settings, log *slog.Logger) (http.Handler, error) {
	l, _, err := connect.Ledger(ctx, s.Firestore, s.Topic, s.Ledger)
	if err != nil {
		return nil, err
	}
	connect.StoreSettings(ctx, l, s.Ledger, "register", log)
	return New(Options{Ledger: l, Now: time.Now, Log: log}), nil
}
