// Package serve has the commands that answer HTTP requests until they are stopped: serve, which runs the
// functions of package server, and console, which shows the pages of package console over a ledger.
package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/logging"
)

// serveFlags are the flags of opledger serve.
type serveFlags struct {
	forwardTo     string
	listen        listenFlags
	simulate      simulateFlags
	schedule, act bool
	check         bool
}

// New makes opledger serve.
func New(outside terminal.Environment) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the four functions on one port",
		Long: "Runs the four functions on one port: POST /webhook, /register, /jobs/ID, /reconcile, /sweep, /resume,\n" +
			"/effects, and GET /operations/NAME, /intents/ID, /jobs/ID, /health, /ready; and at / the console, for a\n" +
			"browser on this machine. Effects are run inside the process, or published to $OPLEDGER_TOPIC if that is\n" +
			"set.\n\n" +
			simulateHelp + forwardHelp +
			"/webhook verifies signatures; /health and /ready are public. To the other routes a caller must send a bearer\n" +
			"token. It is $OPLEDGER_SERVE_TOKEN, or else serve makes one at its first start, in a file beside the\n" +
			"ledger. What it prints then has all that programs and a browser need. With $OPLEDGER_SERVE_TOKEN=none,\n" +
			"and with --simulate, callers on this machine need no token. A page of another origin is refused, and so\n" +
			"is one whose name was rebound to this machine. /effects accepts Pub/Sub's pushes from elsewhere if\n" +
			"$OPLEDGER_PUSH_AUDIENCE and $OPLEDGER_PUSH_ACCOUNT are set. If a tunnel brings the deliveries, let it\n" +
			"end at --webhook-listen, which answers /webhook alone. For Prometheus --metrics-listen answers /metrics and\n" +
			"/alerts.yml alone, without a token.\n\n" +
			"A line on stdout says when it is ready; the log goes to stderr. On SIGTERM it begins nothing more, gives\n" +
			"what is in progress 4 s, releases the rest, and ends.",
		Example: "  opledger serve --simulate\n" +
			"  opledger serve --simulate --forward-to http://127.0.0.1:9999/hook\n" +
			"  GEMINI_API_KEY=… OPLEDGER_WEBHOOK_SECRET=whsec_… opledger serve\n" +
			"  opledger serve --port 9000 --store sqlite:/var/lib/opledger/ledger.db\n" +
			"  opledger serve --webhook-listen 127.0.0.1:8081 --metrics-listen :9464\n" +
			"  opledger serve --host 0.0.0.0 --allow-host ledger.example",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd, outside)
		},
	}
	open.StoreFlag(cmd, &outside)
	cmd.Flags().BoolVar(&f.check, "check", false,
		"say what is wrong with the flags and settings, and start nothing; exits with 0 where nothing is, else with 2")
	f.listen.add(cmd)
	f.simulate.add(cmd)
	ActionsFlag(cmd, &f.act)
	cmd.Flags().StringVar(&f.forwardTo, "forward-to", "",
		"a URL of your own to post each operation to that ends: https, or http on this machine")
	cmd.Flags().BoolVar(&f.schedule, "schedule", true,
		"make a reconcile pass every $OPLEDGER_INTERVAL, as Cloud Scheduler does; if false, only run due effects")
	return cmd
}

// run checks everything that was given, opens the ports, and serves until the command is ended.
func (f *serveFlags) run(cmd *cobra.Command, outside terminal.Environment) (err error) {
	ctx, theirs := cmd.Context(), outside.Variables
	forwardErr := checkForward(f.forwardTo, theirs)
	if forwardErr == nil {
		outside.Variables = append(slices.Clone(theirs), forwardSettings(theirs, f.forwardTo)...)
	}
	at, err := f.judge(cmd, outside)
	supervisor, supervisorErr := newSupervisor(theirs)
	if err := errors.Join(terminal.Prefixed("--forward-to", forwardErr), err, supervisorErr); err != nil {
		return terminal.Usage(err)
	}
	if f.check {
		_, err := fmt.Fprintln(outside.Out, "the flags and the settings are in order; nothing was started")
		return err
	}
	ports, err := at.listen()
	if err != nil {
		return err
	}
	defer ports.close()
	var simulation simulated
	if f.simulate.on {
		simulation, err = f.simulate.start(ctx, f.simulate.address(cmd, at.main), ports.url()+"/webhook", outside.Store)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, simulation.close()) }()
		defer context.AfterFunc(ctx, simulation.gemini.Stop)()
		printReplaced(outside, theirs)
		outside.Variables = f.simulate.settings(outside.Variables, simulation)
	}
	settings, where, err := f.settings(outside)
	if err != nil {
		return terminal.Usage(err)
	}
	settings.Endpoint.URL = cmp.Or(simulation.webhook, settings.Endpoint.URL) // as a setting it must be https
	if f.simulate.on && len(only(theirs, "OPLEDGER_EFFECTS")) > 0 {
		printRealEffects(outside, settings.Ledger)
	}
	tokenFile, err := f.ownToken(&settings.Access, where)
	if err != nil {
		return err
	}
	options, err := f.options(outside, settings, where)
	if err != nil {
		return err
	}
	options.Metrics = ports.metrics
	s, err := open.Server(ctx, outside, settings, where, options)
	if err != nil {
		return err
	}
	if f.simulate.on {
		if err := printForgotten(ctx, outside, s.Ledger, options.StoreFlag); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	for _, words := range s.StoreSettings(ctx, "serve") {
		_, _ = fmt.Fprintln(outside.Err, "opledger: "+words) // it is also in the overview
	}
	s.StorePause(ctx)
	for _, found := range s.CheckEffects(ctx) {
		_, _ = fmt.Fprintln(outside.Err, "opledger: "+found.Words) // it is also in the log
	}
	withdraw, err := where.Announce(ctx, open.ServeAddress{URL: ports.url(), Key: options.Key})
	if err != nil {
		return errors.Join(err, s.Close())
	}
	defer withdraw()
	ready, err := f.ready(ports, theirs, outside.Variables, simulation, ownToken{tokenFile, settings.Access.Token})
	if err == nil {
		_, err = io.WriteString(outside.Out, ready)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("printing that it is ready: %w", err), s.Close())
	}
	return errors.Join(f.serve(ctx, s, ports, supervisor), s.Close())
}

// serve serves until ctx ends, and tells the supervisor when it is ready, that it lives, and that it ends.
func (f *serveFlags) serve(ctx context.Context, s open.Writer, ports ports, supervisor supervisor) error {
	if err := supervisor.tell("READY=1", "STATUS=serving on "+ports.main.Addr().String()); err != nil {
		ports.close()
		return err
	}
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { supervisor.watch(watching, ports.url()) })
	ending := context.AfterFunc(ctx, func() { _ = supervisor.tell("STOPPING=1") }) // it ends in any case
	err := s.Serve(ctx, ports.main, ports.webhooks...)
	ending()
	stop()
	watch.Wait()
	return err
}

// options returns what the server needs besides its settings and its store.
func (f *serveFlags) options(
	outside terminal.Environment, settings server.Settings, where open.Location,
) (server.Options, error) {
	operator, err := ActingOperator(f.act)
	options := server.Options{
		Log: logging.New(outside.Err, ""), Schedule: settings.Ledger.Interval, AllowHosts: f.listen.allowHosts,
		LateSecret: true, QuietPasses: f.simulate.on,
		Console: true, Location: where.Store, StoreFlag: where.Absolute().String(), Operator: operator,
		Key: rand.Text(), Version: terminal.Version(),
	}
	if !f.schedule {
		options.Schedule = 0
	}
	return options, err
}

// judge returns where to listen, or every problem of the flags and of the settings.
func (f *serveFlags) judge(cmd *cobra.Command, outside terminal.Environment) (addresses, error) {
	at, listenErr := f.listen.check(cmd, outside, f.simulate.on)
	simulateErr := f.simulate.check(cmd, outside.Store)
	if f.simulate.on {
		outside.Variables = f.simulate.settings(outside.Variables, notStarted)
	}
	_, _, err := f.settings(outside)
	return at, errors.Join(listenErr, simulateErr, err)
}

// settings reads the settings, and where the ledger is.
func (f *serveFlags) settings(outside terminal.Environment) (server.Settings, open.Location, error) {
	if f.simulate.on {
		outside.Store = "" // the settings name it
	}
	return open.Parse[server.Settings](outside)
}
