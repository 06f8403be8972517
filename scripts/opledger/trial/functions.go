package trial

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"time"

	"github.com/opledger/opledger/scripts/opledger/local"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
)

// functionsOn returns what makes the functions of a run, with these options, and serves them on a
// listener.
func functionsOn(listener net.Listener, options server.Options) func(context.Context, local.Deployment) (
	*ledger.Ledger, func(context.Context) error, error,
) {
	return func(ctx context.Context, d local.Deployment) (*ledger.Ledger, func(context.Context) error, error) {
		settings, err := config.Parse[server.Settings](d.Variables)
		if err != nil {
			return nil, nil, fmt.Errorf("reading the settings of the run: %w", err)
		}
		options.Now, options.Console, options.Key = time.Now, true, rand.Text()
		options.Schedule, options.Budget = settings.Ledger.Interval, d.Budget
		options.Workers, options.Wrap = d.Workers, d.Unreliable
		functions, err := server.New(ctx, settings, options)
		if err != nil {
			return nil, nil, err
		}
		functions.StoreSettings(ctx, "local")
		// Commands on the ledger's file ask this process, as they ask serve.
		address := open.ServeAddress{URL: "http://" + listener.Addr().String(), Key: options.Key}
		withdraw, err := open.Location{Store: options.Location}.Announce(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		return functions.Ledger, func(ctx context.Context) error {
			defer withdraw()
			return functions.Serve(ctx, listener)
		}, nil
	}
}
