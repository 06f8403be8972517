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
	"sync/atomic"
	"time"

	effectsfn "github.com/opledger/opledger/functions/effects"
	reconcilefn "github.com/opledger/opledger/functions/reconcile"
	registerfn "github.com/opledger/opledger/functions/register"
	webhookfn "github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/scripts/opledger/console"
	"github.com/opledger/opledger/scripts/opledger/metrics"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/pubsub"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/shared/storage"
)

// Settings are those of the four functions together. Without the API key there is no Reconciler.
type Settings struct {
	Project   config.Project
	Ledger    config.Ledger
	Webhook   config.Webhook
	Gemini    config.Gemini
	Discovery config.Discovery
	Endpoint  config.Endpoint
	Handlers  config.Handlers
	Results   config.Results
	Jobs      config.Jobs
	Access    config.Access
}

// hasWebhook reports whether the process has the webhook: the tolerance is zero in the settings of a command.
func (s *Settings) hasWebhook() bool { return s.Webhook.Tolerance > 0 }

// Options are what a Server needs besides its settings.
type Options struct {
	Store ledger.Store
	Now   func() time.Time
	Log   *slog.Logger
	// Publisher is where effects are published; nil: to a queue inside the process. Wrap, if not
	// nil, wraps it.
	Publisher ledger.Publisher
	Wrap      func(ledger.Publisher) ledger.Publisher
	// Wake, if not nil, is told that effects are due: this process plans and reopens them, and leaves them
	// to the workers of another one. There is no Publisher then.
	Wake func(context.Context) error
	// WakeForSteps, if not nil, is told so of the steps of jobs alone: without the API key this process leaves them to
	// another one, and runs other effects itself.
	WakeForSteps func(context.Context) error
	// Key is a secret of this run alone, for commands on this machine that can read it: GET /health proves
	// that it has it, and it opens /reconcile, /sweep and what else routes.go lists; empty: there are no such commands.
	Key string
	// Version says which build this is, for GET /health and the console; empty: neither says it.
	Version string
	// Topic names the Pub/Sub topic that Publisher publishes to, for CheckEffects; empty: it is not
	// checked.
	Topic string
	// TopicTimeout bounds that check; 0: 2 s.
	TopicTimeout time.Duration
	// Schedule is how often a reconcile pass is made, the first one at once; 0: only by POST
	// /reconcile. Without passes, or without the API key, due effects are swept at the interval of
	// the ledger's settings.
	Schedule time.Duration
	// QuietPasses leaves a pass that did nothing out of the log: it is for passes every few seconds.
	QuietPasses bool
	// Metrics answers GET /metrics and GET /alerts.yml, from when Serve is called, which closes it; nil: nothing is
	// counted.
	Metrics net.Listener
	// Budget is how long a pass may take; 0: reconcile.DefaultBudget.
	Budget time.Duration
	// Expire deletes expired documents after every scheduled pass or sweep; nil: the store does so
	// itself.
	Expire func(context.Context) (int64, error)
	// Ready returns nil if the store can be written, for GET /ready; nil: if it can be read.
	Ready func(context.Context) error
	// InPlace returns an error once the store's file is gone, which ends Serve; nil: it is no file.
	InPlace func() error
	// LateSecret allows a server whose OPLEDGER_EFFECT_SECRET cannot be read yet: attempts that are
	// signed with it fail, and are retried, until it can be.
	LateSecret bool
	// AllowHosts are the names besides loopback's that a request's Host may have; see CheckHost.
	AllowHosts []string
	// Console serves the console at / and below /console/, for callers of the guarded routes.
	Console bool
	// Location names the ledger on the console's pages. Beside its file is the folder of jobs, unless the
	// settings name another place.
	Location config.Store
	// StoreFlag is the --store for the commands on the console's pages; empty: they need none.
	StoreFlag string
	// FollowPause keeps the pause of another process: without a Publisher, no effect is run here while
	// the ledger says that effects are paused.
	FollowPause bool
	// Operator lets the console act, as well as read, and is whom it proposes to record; empty: it only
	// reads.
	Operator string
	// PushKeys replaces the URL of the keys for push tokens in a test; empty: Google's.
	PushKeys string
	// Workers is how many effects run at once, where they are published inside the process; 0: 8. No
	// effect's concurrency should be less: its attempts beyond that are put back again and again.
	Workers int
	// Shutdown bounds how long requests and effects in progress may take to end by themselves; 0:
	// httpfunc.FinishTime. Then their contexts end with effect.ErrStopped.
	Shutdown time.Duration
}

// A Server is the four functions over one store.
type Server struct {
	Ledger     *ledger.Ledger
	Reconciler *reconcile.Reconciler
	reconcile  reconcilefn.Function
	sweeper    *reconcile.Reconciler // without Gemini
	queue      *Queue
	topics     *pubsub.Topics
	effects    effectsfn.Function
	webhook    http.Handler     // nil: without a webhook
	inside     *http.ServeMux   // the guarded routes except /effects
	console    *console.Console // nil: without one
	metrics    *metrics.Metrics // nil: without Options.Metrics
	guard      *guard
	settings   Settings
	handlers   kinds.Options
	jobs       storage.Storage // nil: without jobs
	uploads    *uploads        // nil: without jobs
	tidied     time.Time       // when job storage was last checked by expire
	options    Options

	refusals  refusals
	readiness readiness
	outage    outage

	// unperformable is what the last check found, for the console and for status.
	unperformable atomic.Pointer[[]overview.Unperformable]

	left         atomic.Bool // an effect is due that was left to another process, which was not told
	resumed      atomic.Bool // an operator has ended the pause that the settings ask for
	unverifiable bool        // no secret and no audience is set, so that no delivery can be verified
}

// New returns a server, and starts nothing.
func New(ctx context.Context, settings Settings, o Options) (*Server, error) {
	var counted *metrics.Metrics
	var err error
	if o.Metrics != nil {
		if counted, err = metrics.New(); err != nil {
			return nil, fmt.Errorf("the metrics: %w", err)
		}
		o.Log, o.Store = counted.Log(o.Log), counted.Store(o.Store)
	}
	s := &Server{
		queue: NewQueue(), topics: pubsub.NewTopics(settings.Project.ID), inside: http.NewServeMux(),
		settings: settings, options: o, metrics: counted,
	}
	s.unperformable.Store(new([]overview.Unperformable))
	if s.guard, err = newGuard(settings.Access, o.AllowHosts, o.PushKeys, o.Now, o.Log); err != nil {
		return nil, err
	}
	s.guard.key = o.Key
	publisher := o.Publisher
	if publisher == nil {
		publisher = inside{s}
	}
	if o.Wrap != nil {
		publisher = o.Wrap(publisher)
	}
	s.Ledger, err = ledger.New(o.Store, settings.Ledger.Settings(), ledger.Options{Publisher: publisher, Log: o.Log})
	if err != nil {
		return nil, fmt.Errorf("the ledger's settings: %w", err)
	}
	if err := s.newEffects(ctx, settings); err != nil {
		return nil, err
	}
	s.sweeper = reconcile.New(reconcile.Options{Ledger: s.Ledger, Budget: o.Budget, Log: o.Log})
	s.newRegister()
	s.inside.Handle("/sweep", httpfunc.OnlyPOST(http.HandlerFunc(s.serveSweep)))
	s.inside.Handle("/resume", httpfunc.OnlyPOST(http.HandlerFunc(s.serveResume)))
	s.inside.Handle("/unperformable", httpfunc.OnlyPOST(http.HandlerFunc(s.serveUnperformable)))
	if settings.Gemini.IsSet() {
		passes, err := cloud.Reconciler(ctx, cloud.Reconcile{
			Gemini: settings.Gemini, Discovery: settings.Discovery, Endpoint: settings.Endpoint,
			Signing: settings.Webhook.SigningSecrets,
		}, o.Log)
		if err != nil {
			return nil, err
		}
		passes.Ledger, passes.Budget, passes.LeaveEffects = s.Ledger, o.Budget, o.Wake != nil
		passes.Unsigned = settings.hasWebhook() && settings.Webhook.Secrets.IsZero()
		passes.Tokens = len(settings.Webhook.Audiences) > 0
		s.Reconciler = reconcile.New(passes)
		s.reconcile = reconcilefn.New(reconcilefn.Options{
			Reconciler: s.Reconciler, Now: o.Now, Log: o.Log, Quiet: o.QuietPasses,
		})
		s.inside.Handle("/reconcile", s.passOrLookUp())
	}
	if settings.hasWebhook() {
		if s.webhook, err = s.newWebhook(ctx, settings.Webhook); err != nil {
			return nil, err
		}
		s.unverifiable = settings.Webhook.Secrets.IsZero() && len(settings.Webhook.Audiences) == 0
	}
	if o.Console {
		s.newConsole()
	}
	if s.metrics != nil {
		s.metrics.Watch(metrics.Watched{
			Ledger: s.Ledger.Reading(), Interval: settings.Ledger.Interval, File: o.Location.SQLite, Now: o.Now, Log: o.Log,
			Rules: settings.Ledger.EffectNames(), Serve: s.itself,
		})
	}
	s.inside.HandleFunc("/",
		notFound("POST /webhook, /register, /jobs/{id}, /reconcile, /sweep, /resume or /effects, or GET /operations, "+
			"/operations/{name}, /intents/{id}, /jobs/{id}, /health or /ready"))
	return s, nil
}

// newRegister serves the function that submitters call, and what jobs need beside it on one machine.
func (s *Server) newRegister() {
	register := registerfn.New(registerfn.Options{
		Ledger: s.Ledger, Now: s.options.Now, Log: s.options.Log, Storage: s.jobs, ReadsStorage: true,
	})
	for _, path := range []string{"/register", "/operations/", "/intents/", "/jobs/"} {
		s.inside.Handle(path, register)
	}
	if s.jobs != nil {
		s.uploads = newUploads(uploadsBeside(s.options.Location), s.jobs, s.Ledger, s.options.Now)
	}
	s.inside.HandleFunc("HEAD /jobs/{id}/input/{sha256}", s.headInput)
	s.inside.HandleFunc("PUT /jobs/{id}/input/{sha256}", s.putInput)
	s.inside.HandleFunc("GET /operations/jobs/{id}/results", s.getResults)
	s.inside.HandleFunc("GET /operations/batches/{id}/results", s.getBatchResults)
	s.inside.HandleFunc("GET /operations", s.listOperations)
	s.inside.HandleFunc("DELETE "+operationsPath, s.forgetOperation)
	s.inside.Handle("POST "+operationsPath, httpfunc.OnlyPOST(http.HandlerFunc(s.decideOperation)))
}

// newWebhook returns the function that Gemini delivers to.
func (s *Server) newWebhook(ctx context.Context, settings config.Webhook) (http.Handler, error) {
	gate, err := cloud.Gate(ctx, settings, s.options.Now(), s.options.Log)
	if err != nil {
		return nil, err
	}
	confirmer := confirm.New(confirm.Options{
		Ledger: s.Ledger, Now: s.options.Now,
		// Settings that confirm deliveries have an API key, and so there is a Reconciler.
		Gemini: func(context.Context) (*lookup.Client, error) { return s.Reconciler.Gemini, nil },
	})
	return webhookfn.New(webhookfn.Options{
		Ledger: s.Ledger, Gate: gate, Confirm: settings.Confirm, Confirmer: confirmer, Timeout: settings.Timeout,
		Count: s.countDelivery, Now: s.options.Now, Log: s.options.Log,
	}), nil
}

const defaultWorkers = 8

// Serve answers on listener, and /webhook alone on each of webhooks, until ctx ends. Then it accepts
// no more requests, begins no more attempts and items, waits for what is in progress, finishes or
// releases it, and returns nil. It always closes the listeners. Once the store's file is gone it cuts
// everything off, and returns an error.
func (s *Server) Serve(ctx context.Context, listener net.Listener, webhooks ...net.Listener) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	work, stop := s.inProgress(ctx)
	defer stop(nil)
	s.warnSettings(ctx)
	if s.Reconciler != nil {
		s.Reconciler.Effects = s.pause
	}
	var background sync.WaitGroup
	background.Go(func() { s.queue.Run(ctx, work, cmp.Or(s.options.Workers, defaultWorkers), s.run) })
	background.Go(func() { s.schedule(ctx) })
	background.Go(func() { s.keepRefusals(ctx) })
	listeners := s.listen(work, listener, webhooks)
	background.Go(func() { s.watchFile(ctx, listeners.failed) })
	select {
	case err := <-listeners.failed:
		end()
		stop(err)
		background.Wait()
		return errors.Join(err, listeners.close())
	case <-ctx.Done():
	}
	err := listeners.shutdown(context.WithoutCancel(ctx), s.shutdown()+httpfunc.StopTime-httpfunc.FinishTime)
	background.Wait()
	return err
}

// inProgress returns the context of the work that is in progress when ctx ends. At that end nothing
// more is begun in it, and Options.Shutdown later it ends with effect.ErrStopped.
func (s *Server) inProgress(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	work, stop := context.WithCancelCause(effect.WithStop(context.WithoutCancel(ctx), ctx))
	release := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(s.shutdown(), func() { stop(effect.ErrStopped) })
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func(cause error) { release(); stop(cause) }
}

func (s *Server) shutdown() time.Duration { return cmp.Or(s.options.Shutdown, httpfunc.FinishTime) }

// warnSettings logs what the settings keep the server from doing, or open, so that it is not found out
// only later.
func (s *Server) warnSettings(ctx context.Context) {
	if s.unverifiable {
		s.options.Log.WarnContext(ctx, "deliveries are answered 503 until OPLEDGER_WEBHOOK_SECRET is set", "event", "auth",
			"outcome", "unverifiable", "reason", "no-secret")
	}
	if s.settings.Access.Token == config.NoToken {
		s.options.Log.WarnContext(ctx, "OPLEDGER_SERVE_TOKEN is none: any user of this machine may call every route, and "+
			"so may callers from elsewhere through a tunnel or a proxy that hides itself", "event", "auth",
			"outcome", "unprotected", "reason", "no-token")
	}
	if s.effects.Paused {
		s.options.Log.WarnContext(ctx, "effects are planned and not run: OPLEDGER_EFFECTS_PAUSED is true", "event", "effect",
			"outcome", effect.Paused, "reason", "settings")
	}
}

// Close releases the resources of the effects' handlers, once nothing runs any more. It leaves open
// what Options holds.
func (s *Server) Close() error { return s.topics.Close() }
