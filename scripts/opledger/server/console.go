package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/console"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// Actions returns what an operator's actions are done with, in the functions' own way.
func (s *Server) Actions() *actions.Actions {
	a := &actions.Actions{
		Ledger: s.Ledger, Send: s.send, Elsewhere: s.elsewhere(), By: s.options.Operator,
		StoreFlag: phrase.StoreFlag(s.options.StoreFlag),
		Storage: func(name string) (storage.Storage, error) {
			return storage.Open(name, s.settings.Handlers.StorageEmulator)
		},
	}
	if s.options.Publisher == nil { // the ledger is a file
		a.LookEvery = 100 * time.Millisecond
	}
	if !a.Elsewhere {
		a.Paused, a.Overrides = s.Paused, !s.effects.Paused && !s.options.FollowPause
		if s.effects.Paused {
			a.EndPause = s.ResumeEffects
		}
	}
	if s.Reconciler != nil {
		a.One, a.AskToCancel = s.Reconciler.One, s.askToCancel
	}
	return a
}

// askToCancel asks Gemini to cancel an operation. It is rare: no client for it is kept.
func (s *Server) askToCancel(ctx context.Context, name operation.Name) error {
	client, err := cloud.Client(ctx, s.settings.Gemini, cancel.NewClient)
	if err != nil {
		return err
	}
	return client.Cancel(ctx, name)
}

// send publishes a message, and wakes the workers to which this process leaves its effects. Where they
// cannot be woken, they find the effect at their next sweep.
func (s *Server) send(ctx context.Context, m ledger.Message) error {
	err := s.Publish(ctx, m)
	_ = s.Wake(ctx)
	return err
}

// Work runs the effects whose messages are in the queue inside this process, until ctx ends. Then it
// finishes or releases those in progress.
func (s *Server) Work(ctx context.Context) {
	work, stop := s.inProgress(ctx)
	defer stop(nil)
	s.queue.Run(ctx, work, cmp.Or(s.options.Workers, defaultWorkers), s.run)
}

// newConsole makes the console.
func (s *Server) newConsole() {
	options := console.Options{
		Ledger: s.Ledger.Reading(),
		Effects: phrase.EffectView{
			Store: s.options.StoreFlag, Max: s.settings.Ledger.MaxAttempts, RetryFor: s.settings.Ledger.RetryFor,
			Paused: s.settings.Handlers.Paused,
		},
		Location: s.options.Location, Interval: s.settings.Ledger.Interval, Settings: config.Describe(s.settings),
		Log: s.options.Log, Version: s.options.Version,
		Rules: s.settings.Ledger.EffectNames(), Paused: s.pausedHere, Serve: s.itself,
		Receivers: spec.Receivers(s.settings.Ledger.Effects),
	}
	if s.options.Operator != "" {
		options.Actions = s.Actions()
	}
	s.console = console.New(options.Limited())
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
	server := &http.Server{
		Handler: withHeaders(guard.on(listener).visitors(c)), ReadHeaderTimeout: 10 * time.Second,
		ConnState: newConnections(connectionsOf(1), time.Now, log).track,
	}
	server.RegisterOnShutdown(c.Close)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), httpfunc.FinishTime)
	defer cancel()
	return server.Shutdown(ending)
}
