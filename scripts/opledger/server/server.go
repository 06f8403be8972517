package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	effectsfn "github.com/opledger/opledger/functions/effects"
	reconcilefn "github.com/opledger/opledger/functions/reconcile"
	registerfn "github.com/opledger/opledger/functions/register"
	webhookfn "github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/reconcile"
)

// Settings are the groups of settings that the four functions use together. Without Gemini's key there is no Reconciler.
type Settings struct {
	Project   config.Project
	Ledger    config.Ledger
	Webhook   config.Webhook
	Gemini    config.Gemini
	Discovery config.Discovery
	Endpoint  config.Endpoint
	Handlers  config.Handlers
	Results   config.Results
	Access    config.Access
}

// Options are what a Server takes beside its settings.
type Options struct {
	Store ledger.Store
	Now   func() time.Time
	Log   *slog.Logger
	// Publisher is where effects are published; nil hands them over inside the process. Wrap, if not nil, stands in front.
	Publisher ledger.Publisher
	Wrap      func(ledger.Publisher) ledger.Publisher
	// Schedule is how often a reconcile pass is made, the first one at once; 0 makes none, and POST /reconcile makes one. Where
	// none is made, for this or for want of Gemini's key, due effects are swept at the interval of the ledger's settings.
	Schedule time.Duration
	// Budget is how long a pass may take; 0: reconcile.DefaultBudget.
	Budget time.Duration
	// Expire deletes what may be deleted, with every scheduled pass or sweep; nil where the store does so by itself.
	Expire func(context.Context) (int64, error)
	// LateSecret lets a server be made whose OPLEDGER_EFFECT_SECRET cannot be read: what is signed with it then fails, to be
	// tried again, until it can be.
	LateSecret bool
	// AllowHosts are hosts that requests may be addressed to beside loopback's, each as CheckHost takes it.
	AllowHosts []string
	// PushKeys is where the keys of push tokens are published, for a test; empty: where Google does.
	PushKeys string
	// Shutdown is how long requests and effects in progress may take to end by themselves; 0: 25 s.
	Shutdown time.Duration
}

// A Server is the four functions over one store.
type Server struct {
	Ledger     *ledger.Ledger
	Reconciler *reconcile.Reconciler
	reconcile  reconcilefn.Function
	sweeper    *reconcile.Reconciler // without Gemini
	queue      *Queue
	topics     *effect.Topics
	effects    effectsfn.Function
	webhook    http.Handler   // nil: nothing is delivered here
	inside     *http.ServeMux // what the guard stands before, but for /effects
	guard      *guard
	settings   Settings
	handlers   effect.HandlerOptions
	options    Options

	unverifiable bool // there is nothing to verify a delivery with
}

// New returns a server. It starts nothing.
func New(ctx context.Context, settings Settings, o Options) (*Server, error) {
	s := &Server{
		queue: NewQueue(), topics: effect.NewTopics(settings.Project.ID), inside: http.NewServeMux(), settings: settings, options: o,
	}
	var err error
	if s.guard, err = newGuard(settings.Access, o.AllowHosts, o.PushKeys, o.Now, o.Log); err != nil {
		return nil, err
	}
	publisher := o.Publisher
	if publisher == nil {
		publisher = s.queue
	}
	if o.Wrap != nil {
		publisher = o.Wrap(publisher)
	}
	s.Ledger, err = ledger.New(o.Store, settings.Ledger.Settings(), ledger.Options{Publisher: publisher})
	if err != nil {
		return nil, fmt.Errorf("the ledger's settings: %w", err)
	}
	if err := s.newEffects(ctx, settings); err != nil {
		return nil, err
	}
	s.sweeper = reconcile.New(reconcile.Options{Ledger: s.Ledger, Budget: o.Budget, Log: o.Log})
	s.inside.Handle("/register", registerfn.New(registerfn.Options{Ledger: s.Ledger, Now: o.Now, Log: o.Log}))
	if settings.Gemini.IsSet() {
		passes, err := cloud.Reconciler(ctx, cloud.Reconcile{
			Gemini: settings.Gemini, Discovery: settings.Discovery, Endpoint: settings.Endpoint, Signing: settings.Webhook.SigningSecrets,
		}, o.Log)
		if err != nil {
			return nil, err
		}
		passes.Ledger, passes.Budget = s.Ledger, o.Budget
		s.Reconciler = reconcile.New(passes)
		s.reconcile = reconcilefn.New(reconcilefn.Options{Reconciler: s.Reconciler, Now: o.Now, Log: o.Log})
		s.inside.Handle("/reconcile", s.reconcile)
	}
	if settings.Webhook.Tolerance > 0 { // else they are a command's, to which nothing is delivered
		if s.webhook, err = s.newWebhook(ctx, settings.Webhook); err != nil {
			return nil, err
		}
		s.unverifiable = settings.Webhook.Secrets.IsZero() && len(settings.Webhook.Audiences) == 0
	}
	s.inside.HandleFunc("/", notHere("POST /webhook, /register, /reconcile or /effects, or GET /health"))
	return s, nil
}

// newEffects makes the function that runs effects.
func (s *Server) newEffects(ctx context.Context, settings Settings) error {
	custom, err := effectsfn.Custom(ctx, s.options.Log)
	if err != nil {
		return fmt.Errorf("making the custom handlers: %w", err)
	}
	items, err := cloud.Results(ctx, settings.Results)
	if err != nil {
		return err
	}
	s.handlers = effect.HandlerOptions{Log: s.options.Log, Topics: s.topics, Custom: custom, Ledger: s.Ledger, Results: items, Now: s.options.Now}
	if s.options.LateSecret {
		s.handlers.Signer = cloud.LateEffectSigner(settings.Handlers)
	}
	handlers, err := cloud.Handlers(ctx, settings.Ledger.Effects, settings.Handlers, s.handlers)
	if err != nil {
		return err
	}
	s.effects = effectsfn.New(effectsfn.Options{
		Runner: effect.NewRunner(s.Ledger, handlers), Paused: settings.Handlers.Paused, Now: s.options.Now, Log: s.options.Log,
		Concurrency: effect.Concurrency(settings.Ledger.Effects), Later: s.queue.Later,
	})
	return nil
}

// newWebhook returns the function that Gemini delivers to.
func (s *Server) newWebhook(ctx context.Context, settings config.Webhook) (http.Handler, error) {
	gate, err := cloud.Gate(ctx, settings, s.options.Now(), s.options.Log)
	if err != nil {
		return nil, err
	}
	confirmer := confirm.New(confirm.Options{
		Ledger: s.Ledger, Now: s.options.Now,
		Gemini: func(context.Context) (*lookup.Client, error) { return s.Reconciler.Gemini, nil }, // settings with hints have a key
	})
	return webhookfn.New(webhookfn.Options{
		Ledger: s.Ledger, Gate: gate, Confirm: settings.Confirm, Confirmer: confirmer, Timeout: settings.Timeout,
		Now: s.options.Now, Log: s.options.Log,
	}), nil
}

// health answers 200 while the store can be read.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Ledger.Now(r.Context()); err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	httpfunc.WriteJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

const (
	workers         = 8
	defaultShutdown = 25 * time.Second
)

// Serve answers on listener, and /webhook alone on each of webhooks, until ctx ends. Then it takes no more requests, lets those
// in progress end, lets effects in progress finish or be released, and returns nil. It closes the listeners in any case.
func (s *Server) Serve(ctx context.Context, listener net.Listener, webhooks ...net.Listener) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx)) // what is in progress outlives ctx by a while
	defer stop()
	ctx, end := context.WithCancel(ctx)
	defer end()
	s.sayWhatWaits(ctx)
	var background sync.WaitGroup
	background.Go(func() { s.queue.Run(ctx, work, workers, s.run) })
	background.Go(func() { s.schedule(ctx) })
	doors := s.open(listener, webhooks)
	select {
	case err := <-doors.failed:
		end()
		stop()
		background.Wait()
		return errors.Join(err, doors.close())
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(work, cmp.Or(s.options.Shutdown, defaultShutdown))
	defer cancel()
	defer context.AfterFunc(ending, stop)()
	err := doors.shutdown(ending)
	background.Wait()
	return err
}

// sayWhatWaits tells in the log what the settings keep the server from doing: whoever has forgotten it would find out only later.
func (s *Server) sayWhatWaits(ctx context.Context) {
	if s.unverifiable {
		s.options.Log.WarnContext(ctx, "deliveries are answered 503 until OPLEDGER_WEBHOOK_SECRET is set", "event", "auth",
			"outcome", "unverifiable", "reason", "no-secret")
	}
	if s.effects.Paused {
		s.options.Log.WarnContext(ctx, "effects are planned and not run: OPLEDGER_EFFECTS_PAUSED is true", "event", "effect",
			"outcome", effect.Paused, "reason", "settings")
	}
}

// Run handles one message at once, and says what came of it. What it publishes inside this process waits for Drain.
func (s *Server) Run(ctx context.Context, m ledger.Message) (effect.Report, error) {
	return s.effects.Run(ctx, m)
}

// Drain runs the effects that were published inside this process and not run yet, once each.
func (s *Server) Drain(ctx context.Context) { s.queue.Drain(ctx, s.run) }

// run makes an attempt at an effect; what went wrong is in the log and, where it could be recorded, in the ledger.
func (s *Server) run(ctx context.Context, m ledger.Message) (again bool, after time.Duration) {
	report, err := s.effects.Run(ctx, m)
	if err != nil {
		return true, 0
	}
	return report.Again(), report.RetryAfter
}

// Close lets go of what the effects' handlers hold, once nothing runs any more. What Options brought stays open.
func (s *Server) Close() error { return s.topics.Close() }
