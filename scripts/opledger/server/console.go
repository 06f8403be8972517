package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/opledger/opledger/scripts/opledger/console"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/config"
)

// consoleEvery is how often a page of the console that is being watched is read again, from a store
// in this process.
const consoleEvery = 2 * time.Second

// consoleMost is how many documents of each list the overview reads, as opledger status does.
const consoleMost = 100

// newConsole adds the console to the guarded routes.
func (s *Server) newConsole() {
	s.console = console.New(console.Options{
		Ledger: s.Ledger,
		Effects: phrase.EffectView{
			Store: s.options.StoreFlag, Max: s.settings.Ledger.MaxAttempts, RetryFor: s.settings.Ledger.RetryFor,
			Paused: s.settings.Handlers.Paused,
		},
		Where: s.options.Where, Interval: s.settings.Ledger.Interval, Settings: config.Describe(s.settings),
		Most: consoleMost, Every: consoleEvery, Log: s.options.Log,
	})
	s.inside.Handle("GET /{$}", s.console)
	s.inside.Handle("GET /console/", s.console)
}

// ServeConsole answers with a console alone on a listener, which must be loopback's, until ctx ends.
// It closes the listener. The guard is that of the other routes, without a token.
func ServeConsole(ctx context.Context, c *console.Console, listener net.Listener, log *slog.Logger) error {
	if !IsLoopback(listener.Addr()) {
		return errors.Join(fmt.Errorf("the console is not served beyond this machine, as on %s", listener.Addr()),
			listener.Close())
	}
	guard, err := newGuard(config.Access{}, nil, "", time.Now, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := &http.Server{Handler: guard.on(listener).callers(c), ReadHeaderTimeout: 10 * time.Second}
	server.RegisterOnShutdown(c.Close)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultShutdown)
	defer cancel()
	return server.Shutdown(ending)
}
