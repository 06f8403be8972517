package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/console"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/logging"
)

// consoleSettings are the settings that the console shows and decides by.
type consoleSettings struct {
	Ledger   config.Ledger
	Handlers config.Handlers
}

// How often a page that is being watched is read again: a file costs nothing, and Firestore charges
// for every document.
const (
	consoleEvery          = 2 * time.Second
	consoleEveryFirestore = 30 * time.Second
)

func newConsole(outside environment) *cobra.Command {
	var store string
	var port int
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show a ledger in the browser, on this machine",
		Long: "Serves pages about a ledger on loopback: what needs an operator, every operation with its timeline,\n" +
			"effects, intents and the quarantine. It only reads. A deployed ledger is read with your own Google\n" +
			"credentials; roles/datastore.viewer is enough. Pages update by themselves: from a file every 2 s, from\n" +
			"Firestore every 30 s while one is open. To see it from another machine, use an SSH tunnel:\n\n" +
			"  ssh -L 8090:127.0.0.1:8090 HOST",
		Example: "  opledger console\n" +
			"  opledger console --store sqlite:demo.db --port 8090\n" +
			"  GOOGLE_CLOUD_PROJECT=my-project opledger console --store firestore:opledger",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := config.Parse[consoleSettings](outside.variables)
			if port < 0 || port > 65535 {
				err = errors.Join(err, fmt.Errorf("--port: it must be from 0 to 65535, not %d", port))
			}
			if err != nil {
				return usageError{err}
			}
			l, closeStore, err := openReader(cmd.Context(), outside, store)
			if err != nil {
				return err
			}
			where, err := findStore(outside, store) // it was found before
			if err != nil {
				return errors.Join(err, closeStore())
			}
			options := console.Options{
				Ledger: l, Where: where.String(), Interval: settings.Ledger.Interval, Settings: config.Describe(settings),
				Most: 10, Every: consoleEveryFirestore,
				Effects: phrase.EffectView{
					Max: settings.Ledger.MaxAttempts, RetryFor: settings.Ledger.RetryFor, Paused: settings.Handlers.Paused,
					Store: where.String(),
				},
				Log: logging.New(outside.err, ""),
			}
			if where.SQLite != "" {
				options.Most, options.Every = 100, consoleEvery
			}
			listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err != nil {
				return errors.Join(fmt.Errorf("opening the port: %w; choose another with --port", err), closeStore())
			}
			_, printErr := fmt.Fprintf(outside.out, "the console is on http://%s, for this machine alone; interrupt to end\n",
				listener.Addr())
			return errors.Join(printErr,
				server.ServeConsole(cmd.Context(), console.New(options), listener, options.Log), closeStore())
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().IntVar(&port, "port", 8090, "port on 127.0.0.1 to listen on; 0 chooses a free one")
	return cmd
}
