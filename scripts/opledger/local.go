package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/opledger/opledger/scripts/opledger/local"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
)

var (
	// errNotClean: the run broke a promise; the summary says which.
	errNotClean = errors.New("a promise was broken: the summary above says which")
	// errInterrupted: a run that did not come to its end proves nothing.
	errInterrupted = errors.New("interrupted before the end, so that nothing was audited; run it again and let it end")
)

func newLocal(outside environment) *cobra.Command {
	options := local.Options{}
	var store string
	var asJSON, keep, verbose bool
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run the whole job on this machine, with a simulated Gemini that misbehaves",
		Long: "Runs the whole job on this machine: submits operations to a simulated Gemini that loses, repeats, reorders\n" +
			"and delays its deliveries, takes them in, reconciles, runs effects, and audits the outcome. It needs no\n" +
			"account, opens ports on loopback only, and ends within a minute with\n\n" +
			"  lost 0 · doubled 0 · regressed 0\n\n" +
			"Lost: an effect never done. Doubled: a receiver accepted one idempotency key twice. Regressed: a settled\n" +
			"operation seen unsettled. More operations, or less speed, take longer: a run goes on while anything moves, and\n" +
			"ends when nothing has for some seconds or at --max-time. What is still on its way then is unfinished, and said\n" +
			"in a line of its own. It exits with 0 only if all four are 0.",
		Example: "  opledger local\n" +
			"  opledger local --operations 200 --faults harsh --json\n" +
			"  opledger local --store firestore\n" +
			"  opledger local --keep --store sqlite:demo.db",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(checkLocal(options, store), config.Unread(outside.variables)); err != nil {
				return usageError{err}
			}
			if !cmd.Flags().Changed("seed") {
				options.Seed = rand.Uint64N(1e6)
			}
			options.Log = slog.New(slog.DiscardHandler)
			if verbose {
				options.Log = logging.New(outside.err, "")
			}
			options.View = chooseView(outside, asJSON)
			printed := false
			show := func(s local.Summary) error {
				printed = true
				if asJSON {
					return printJSON(outside.out, s)
				}
				return s.Print(outside.out)
			}
			var stay func(local.Summary, string) error
			if keep {
				stay = func(s local.Summary, what string) error {
					err := show(s)
					_, sayErr := fmt.Fprintln(outside.err, what)
					return errors.Join(err, sayErr)
				}
			}
			summary, err := runLocal(cmd.Context(), outside, options, store, stay)
			if err != nil && cmd.Context().Err() != nil {
				return errInterrupted
			}
			if err == nil && !printed {
				err = show(summary)
			}
			if err == nil && !summary.Clean() {
				err = errNotClean
			}
			if why := summary.Unproven(); err == nil && why != "" {
				err = errors.New(why)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&options.Operations, "operations", 20, "how many operations to submit")
	flags.Uint64Var(&options.Seed, "seed", 0, "where all chance comes from (default another one each time; the summary says which)")
	flags.StringVar(&options.Faults, "faults", "normal", "how badly Gemini, the network and the receiver behave: none, normal or harsh")
	flags.Float64Var(&options.Speed, "speed", 100, "how much faster than in earnest grace, interval, leases, tolerance and the simulator go")
	flags.DurationVar(&options.MaxTime, "max-time", local.DefaultMaxTime, "how long the run may take")
	flags.StringVar(&store, "store", "", "where to keep the ledger: sqlite:PATH, or firestore for Google's emulators (default a temporary file)")
	flags.BoolVar(&asJSON, "json", false, "print the summary as one JSON object, and nothing else on stdout")
	flags.BoolVar(&keep, "keep", false, "stay up afterwards, until interrupted")
	flags.BoolVar(&verbose, "verbose", false, "print the functions' log on stderr")
	return cmd
}

func checkLocal(o local.Options, store string) error {
	var problems []error
	if file, isFile := strings.CutPrefix(store, "sqlite:"); store != "" && store != "firestore" && (!isFile || file == "") {
		problems = append(problems, fmt.Errorf("--store: it must be sqlite:PATH, or firestore for the emulators, not %q", store))
	}
	if o.Operations < 1 || o.Operations > 10000 {
		problems = append(problems, fmt.Errorf("--operations: it must be from 1 to 10000, not %d", o.Operations))
	}
	if o.MaxTime <= 0 {
		problems = append(problems, fmt.Errorf("--max-time: it must be longer than zero, such as 5m, not %v", o.MaxTime))
	}
	if o.Speed < 20 || o.Speed > 1000 { // slower, a run would be mostly waiting
		problems = append(problems, fmt.Errorf("--speed: it must be from 20 to 1000, not %v", o.Speed))
	}
	if _, err := geminisim.ParseFaults(o.Faults); err != nil {
		problems = append(problems, fmt.Errorf("--faults: it must be none, normal or harsh, not %q", o.Faults))
	}
	return errors.Join(problems...)
}

// chooseView draws a table on a terminal, prints plain lines into a pipe, and nothing beside JSON.
func chooseView(outside environment, asJSON bool) local.View {
	if asJSON {
		return local.Silent{}
	}
	if file, ok := outside.out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &local.Table{W: outside.out, Rows: 10, Size: func() (width, height int) {
			width, height, err := term.GetSize(int(file.Fd()))
			if err != nil || width <= 0 || height <= 0 {
				return 80, 24 // a terminal that does not say
			}
			return width, height
		}}
	}
	return &local.Lines{W: outside.out, Every: time.Second}
}

// A localStore is where a run keeps its ledger.
type localStore struct {
	hint      string // how to look into it while it is there
	store     ledger.Store
	publisher ledger.Publisher // nil: inside the process
	close     func() error
}

// runLocal opens what the run needs, and closes it. stay, if not nil, is given the summary and a line about what stays up until
// ctx ends.
func runLocal(
	ctx context.Context, outside environment, o local.Options, flag string, stay func(local.Summary, string) error,
) (_ local.Summary, err error) {
	if o.Listen, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return local.Summary{}, fmt.Errorf("opening a port on loopback: %w", err)
	}
	place, err := openLocalStore(ctx, outside, o, flag)
	if err != nil {
		return local.Summary{}, errors.Join(err, o.Listen.Close())
	}
	defer func() { err = errors.Join(err, place.close()) }()
	o.Store, o.Publisher = place.store, place.publisher
	if stay != nil {
		o.Keep = func(s local.Summary, geminiURL string) error {
			return stay(s, fmt.Sprintf("still up: the functions on http://%s, Gemini on %s, %s; interrupt to end",
				o.Listen.Addr(), geminiURL, place.hint))
		}
	}
	return local.Run(ctx, o)
}

// openLocalStore opens the store of a run: a new file in a folder that goes with it, unless flag says otherwise.
func openLocalStore(ctx context.Context, outside environment, o local.Options, flag string) (localStore, error) {
	switch flag {
	case "":
		dir, err := os.MkdirTemp("", "opledger-local-")
		if err != nil {
			return localStore{}, fmt.Errorf("making a folder for the ledger: %w", err)
		}
		path := filepath.Join(dir, "ledger.db")
		store, err := sqlite.Open(ctx, path, time.Now)
		if err != nil {
			return localStore{}, errors.Join(err, os.RemoveAll(dir))
		}
		return localStore{
			hint: listHint(path), store: store,
			close: func() error { return errors.Join(store.Close(), os.RemoveAll(dir)) },
		}, nil
	case "firestore":
		e, err := openEmulated(ctx, "http://"+o.Listen.Addr().String()+"/effects")
		if err != nil {
			return localStore{}, err
		}
		return localStore{hint: "the ledger in the Firestore emulator", store: e.store, publisher: e.topic, close: e.close}, nil
	default:
		return openNamedStore(ctx, outside, flag)
	}
}

func listHint(path string) string { return "the ledger for opledger list --store sqlite:" + path }

// openNamedStore opens a file that stays. It may hold other runs; the audit leaves them alone.
func openNamedStore(ctx context.Context, outside environment, flag string) (localStore, error) {
	where, err := findStore(outside, flag)
	if err != nil {
		return localStore{}, usageError{err}
	}
	store, err := openStore(ctx, outside, where, false)
	if err != nil {
		return localStore{}, err
	}
	return localStore{hint: listHint(where.SQLite), store: store, close: store.Close}, nil
}
