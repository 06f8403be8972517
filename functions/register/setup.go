package register

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/cloud/connect"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/storage"
)

func init() { httpfunc.Register("Register", build) }

// Settings are those of the deployed function.
type Settings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
	Jobs      config.Jobs
}

func build(ctx context.Context, s Settings, log *slog.Logger) (http.Handler, error) {
	l, _, err := connect.Ledger(ctx, s.Firestore, s.Topic, s.Ledger, log)
	if err != nil {
		return nil, err
	}
	connect.StoreSettings(ctx, l, s.Ledger, "register", log)
	o := Options{Ledger: l, Now: time.Now, Log: log}
	if s.Jobs.Storage != "" { // it is only named here: the function has no access to it
		if o.Storage, err = storage.Open(s.Jobs.Storage, ""); err != nil {
			return nil, fmt.Errorf("OPLEDGER_JOB_STORAGE: %w", err)
		}
	}
	return New(o), nil
}
