// Package trial has the command opledger local, which gives the job of package local its store, its functions
// and a terminal to show them on.
package trial

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/opledger/opledger/scripts/opledger/local"
	"github.com/opledger/opledger/scripts/opledger/serve"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/logging"
)

var (
	// errNotClean: the run broke a promise.
	errNotClean = errors.New("a promise was broken: the summary above says which")
	// errCutShort: a run that was cut short proves nothing.
	errCutShort = errors.New("interrupted before the audit; run it again and let it end")
)

// localFlags are the flags of opledger local that are no options of the run.
type localFlags struct {
	keep, verbose, act bool
	operator           string // whom the console proposes to record; empty: it only reads
	metrics            serve.MetricsFlag
}

// New makes opledger local.
func New(outside terminal.Environment) *cobra.Command {
	var options local.Options
	var f localFlags
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run everything on this machine, against a simulated Gemini with faults",
		Long: "Submits operations to a simulated Gemini that loses, repeats, reorders and delays its deliveries.\n" +
			"Receives them, reconciles, runs effects, and audits the outcome. It needs no account, opens ports on\n" +
			"loopback only, and ends within a minute with\n\n" +
			"  lost 0 · doubled 0 · regressed 0\n\n" +
			"Lost: an effect that is never done. Doubled: the receiver accepted one idempotency key twice.\n" +
			"Regressed: a settled operation was seen unsettled. More operations, or a lower speed, take longer: a\n" +
			"run continues while anything changes. It ends when nothing has changed for some seconds, or at\n" +
			"--max-time. Operations that have not ended by then are counted as unfinished, in a line of their own.\n" +
			"The exit code is 0 only if all four counts are 0.\n\n" +
			"With --jobs, jobs run beside them: files of requests that become files of results. Each key must have one\n" +
			"line, with the answer to its own request, and may be sent three times at most.",
		Example: "  opledger local\n" +
			"  opledger local --operations 200 --faults harsh --json\n" +
			"  opledger local --jobs 2\n" +
			"  opledger local --operations 2 --jobs 1 --requests 120000 --faults harsh --max-time 1h\n" +
			"  opledger local --store firestore\n" +
			"  opledger local --keep --store sqlite:demo.db",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, metricsErr := f.metrics.Address()
			err := errors.Join(checkLocal(options, outside.Store), metricsErr, config.Unread(outside.Variables))
			if err != nil {
				return terminal.Usage(err)
			}
			if !cmd.Flags().Changed("seed") {
				options.Seed = rand.Uint64N(1e6)
			}
			if f.operator, err = serve.ActingOperator(f.act); err != nil {
				return err
			}
			return f.run(cmd.Context(), outside, options)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&options.Operations, "operations", 20, "how many operations to submit")
	flags.IntVar(&options.Jobs.Count, "jobs", 0, "how many jobs to submit beside them")
	flags.IntVar(&options.Jobs.Requests, "requests", 300, "how many requests each job has")
	flags.Uint64Var(&options.Seed, "seed", 0,
		"the random seed of all faults (default a new one for each run, printed in the summary)")
	flags.StringVar(&options.Faults, "faults", "normal",
		"the faults of Gemini, the network and the receiver: none, normal or harsh")
	flags.Float64Var(&options.Speed, "speed", 100,
		"divide every duration by this: 100 makes 5 minutes 3 s")
	flags.DurationVar(&options.MaxTime, "max-time", local.DefaultMaxTime, "how long the run may take")
	flags.StringVar(&outside.Store, "store", "",
		"where to keep the ledger: sqlite:PATH, or firestore for Google's emulators (default a temporary file)")
	terminal.Selectors(cmd, "store")
	terminal.JSONFlag(cmd, &outside)
	flags.BoolVar(&f.keep, "keep", false, "keep everything running after the summary, until you press Ctrl-C")
	serve.ActionsFlag(cmd, &f.act)
	f.metrics.Add(cmd)
	flags.BoolVar(&f.verbose, "verbose", false, "print the functions' log on stderr")
	return cmd
}

// run makes a run with these options, and prints its summary.
func (f localFlags) run(ctx context.Context, outside terminal.Environment, options local.Options) error {
	options.View = chooseView(outside)
	summary, err := f.runLocal(ctx, outside, options)
	switch why := summary.Unproven(); {
	case err != nil && ctx.Err() != nil:
		return errCutShort
	case err != nil:
		return err
	case !summary.Clean():
		return errNotClean
	case why != "":
		return errors.New(why)
	}
	return nil
}

func printSummary(outside terminal.Environment, s local.Summary) error {
	if outside.JSON {
		return terminal.PrintJSON(outside.Out, s)
	}
	return s.Print(outside.Out)
}

func checkLocal(o local.Options, store string) error {
	var p diag.Problems
	p.When(store != "" && store != "firestore" && !config.NamesFile(store),
		"--store: it must be sqlite:PATH, or firestore for the emulators, not %q", store)
	p.When(o.Operations < 1 || o.Operations > 20000, "--operations: it must be from 1 to 20000, not %d", o.Operations)
	p.When(o.Jobs.Count < 0 || o.Jobs.Count > 20, "--jobs: it must be from 0 to 20, not %d", o.Jobs.Count)
	p.When(o.Jobs.Requests < 1 || o.Jobs.Requests > 1_000_000,
		"--requests: it must be from 1 to 1000000, not %d", o.Jobs.Requests)
	p.When(o.MaxTime <= 0, "--max-time: it must be longer than zero, such as 5m, not %v", o.MaxTime)
	// Below 20 a run mostly waits.
	p.When(o.Speed < 20 || o.Speed > 1000, "--speed: it must be from 20 to 1000, not %v", o.Speed)
	_, err := geminisim.ParseFaults(o.Faults)
	p.When(err != nil, "--faults: it must be none, normal or harsh, not %q", o.Faults)
	return errors.Join(p...)
}

// chooseView draws a table on a terminal, prints plain lines into a pipe, and nothing beside JSON.
func chooseView(outside terminal.Environment) local.View {
	if outside.JSON {
		return local.Silent{}
	}
	if file, ok := outside.Out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &local.Table{W: outside.Out, Rows: 10, Size: func() (width, height int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil || width <= 0 || height <= 0 {
				return 80, 24 // the terminal does not report its size
			}
			return width, height
		}}
	}
	return &local.Lines{W: outside.Out, Every: time.Second}
}

// runLocal opens what the run needs, prints its summary, and closes it, with --keep once ctx ends.
func (f localFlags) runLocal(
	ctx context.Context, outside terminal.Environment, o local.Options,
) (_ local.Summary, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return local.Summary{}, fmt.Errorf("opening a port on loopback: %w", err)
	}
	defer func() { err = errors.Join(err, closed(listener)) }()
	scraped, err := f.metrics.Listen()
	if err != nil {
		return local.Summary{}, err
	}
	if scraped != nil {
		defer func() { err = errors.Join(err, closed(scraped)) }()
		outside.Note("/metrics and /alerts.yml are on http://%s", scraped.Addr())
	}
	o.Functions = "http://" + listener.Addr().String()
	opened, err := openLocalStore(ctx, outside, o.Functions)
	if err != nil {
		return local.Summary{}, err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	if !outside.JSON {
		if _, err := fmt.Fprintf(outside.Out, "watch it in a browser: %s\n", o.Functions); err != nil {
			return local.Summary{}, fmt.Errorf("writing to stdout: %w", err)
		}
	}
	log := slog.New(slog.DiscardHandler)
	if f.verbose {
		log = logging.New(outside.Err, "")
	}
	o.Jobs.Storage = opened.jobs
	o.Make = functionsOn(listener, server.Options{
		Store: opened.store, Publisher: opened.publisher, Location: opened.where, StoreFlag: opened.flag,
		Operator: f.operator, Log: log, Metrics: scraped,
	})
	o.Ended = func(s local.Summary, geminiURL string) error {
		if err := printSummary(outside, s); err != nil || !f.keep {
			return err
		}
		outside.Note("still up: the functions on %s, Gemini on %s, %s; press Ctrl-C to stop", o.Functions, geminiURL,
			opened.access)
		<-ctx.Done()
		return nil
	}
	return local.Run(ctx, o)
}

// closed closes a listener. The functions have done so if they were served.
func closed(listener net.Listener) error {
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err //nolint:wrapcheck // it says which
	}
	return nil
}
