package main

import (
	"context"
	"errors"

	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/logging"
)

// writerSettings are what a command needs that changes the ledger: no webhook, and Gemini only for effects per item.
type writerSettings struct {
	Project  config.Project
	Ledger   config.Ledger
	Handlers config.Handlers
	Results  config.Results
}

// A writer is a ledger that a command changes. Effects that are planned are run by Drain, or published.
type writer struct {
	*server.Server
	close func() error
}

// newWriter opens the ledger with the settings of the functions, and says on stderr which effects may be planned.
func newWriter(ctx context.Context, outside environment, where place, settings writerSettings) (writer, error) {
	sayEffects(outside, settings.Ledger)
	s, closeStore, err := openServer(ctx, outside, server.Settings{
		Project: settings.Project, Ledger: settings.Ledger, Handlers: settings.Handlers, Results: settings.Results,
	}, where, server.Options{Log: logging.New(outside.err, "")})
	if err != nil {
		return writer{}, err
	}
	return writer{Server: s, close: closeStore}, nil
}

// do calls change, runs the effects that were planned in the process, and closes the ledger.
func (w writer) do(ctx context.Context, change func() error) error {
	err := change()
	w.Drain(ctx) // what was planned before something went wrong, too
	return errors.Join(err, w.close())
}

// change opens a ledger that is there for do.
func change(ctx context.Context, outside environment, flag string, do func(writer) error) error {
	settings, where, err := parse[writerSettings](outside, flag)
	if err != nil {
		return err
	}
	if err := where.exists(); err != nil {
		return err
	}
	w, err := newWriter(ctx, outside, where, settings)
	if err != nil {
		return err
	}
	return w.do(ctx, func() error { return do(w) })
}
