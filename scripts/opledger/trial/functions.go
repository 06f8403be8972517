package trial

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/opledger/opledger/scripts/opledger/local"
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
		options.Now, options.Console = time.Now, true
		options.Schedule, options.Budget = settings.Ledger.Interval, d.Budget
		options.Workers, options.Wrap = d.Workers, d.Unreliable
		functions, err := server.New(ctx, settings, options)
		if err != nil {
			return nil, nil, err
		}
		functions.StoreSettings(ctx, "local")
		return functions.Ledger, func(ctx context.Context) error { return functions.Serve(ctx, listener) }, nil
	}
}
