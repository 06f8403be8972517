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

type settings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
}

// CheckSettings returns the problems that would keep the function from starting with environ,
// joined. environ has the form of os.Environ. It makes no request, so it does not read secrets.
func CheckSettings(environ []string) error {
	_, err := config.Parse[settings](environ)
	return err
}

func build(ctx context.Context, s settings, log *slog.Logger) (http.Handler, error) {
	l, _, err := connect.Ledger(ctx, s.Firestore, s.Topic, s.Ledger)
	if err != nil {
		return nil, err
	}
	connect.StoreSettings(ctx, l, s.Ledger, "register", log)
	return New(Options{Ledger: l, Now: time.Now, Log: log}), nil
}
