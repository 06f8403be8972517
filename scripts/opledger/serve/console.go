package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/console"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
)

// consoleSettings are the settings that the console shows and decides by.
type consoleSettings struct {
	Ledger   config.Ledger
	Handlers config.Handlers
}

// NewConsole makes opledger console.
func NewConsole(outside terminal.Environment) *cobra.Command {
	var port int
	var act bool
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Show a ledger in the browser, on this machine",
		Long: "Serves pages about a ledger on loopback: what needs an operator, every operation with its timeline,\n" +
			"effects, intents and the quarantine. It only reads. A deployed ledger is read with your own Google\n" +
			"credentials; roles/datastore.viewer is enough. Pages update by themselves: from a file every 2 s, from\n" +
			"Firestore every 30 s while one is open. To see it from another machine, use an SSH tunnel:\n\n" +
			"  ssh -L 8090:127.0.0.1:8090 HOST\n\n" +
			"With --allow-actions a page of one operation, effect or delivery also offers to look it up, to run it\n" +
			"again, to waive or to abandon it. Each asks first, and records what the command of that name records.\n" +
			"It needs the settings that those commands need: OPLEDGER_EFFECTS, OPLEDGER_TOPIC of a deployed ledger,\n" +
			"and for look-ups GEMINI_API_KEY. Without a topic this process runs the effects, but none\n" +
			"in a pause that the last pass saw. With OPLEDGER_EFFECTS_PAUSED=false it runs them all the same.",
		Example: "  opledger console\n" +
			"  opledger console --store sqlite:demo.db --port 8090\n" +
			"  GOOGLE_CLOUD_PROJECT=my-project opledger console --store firestore:opledger\n" +
			"  opledger console --allow-actions",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := config.Parse[consoleSettings](outside.Variables)
			if port < 0 || port > 65535 {
				err = errors.Join(err, fmt.Errorf("--port: it must be from 0 to 65535, not %d", port))
			}
			if err != nil {
				return terminal.Usage(err)
			}
			opened, err := openConsole(cmd.Context(), outside, act)
			if err != nil {
				return err
			}
			return errors.Join(opened.serve(cmd.Context(), outside, port), opened.close())
		},
	}
	open.StoreFlag(cmd, &outside)
	open.OverrideFlag(cmd, &outside)
	cmd.Flags().IntVar(&port, "port", 8090, "port on 127.0.0.1 to listen on; 0 chooses a free one")
	ActionsFlag(cmd, &act)
	return cmd
}

// An openedConsole is the ledger of a console, and what it acts with.
type openedConsole struct {
	ledger   ledger.Reading
	where    open.Location
	settings consoleSettings
	server   *server.Server // nil: it only reads
	close    func() error
}

// openConsole opens an existing ledger, for reading alone unless act is set.
func openConsole(ctx context.Context, outside terminal.Environment, act bool) (openedConsole, error) {
	if act {
		return openActing(ctx, outside)
	}
	settings, l, err := open.Read[consoleSettings](ctx, outside)
	if err != nil {
		return openedConsole{}, err
	}
	// With the rules of the effects, too, and with what differs on stderr.
	if settings.Ledger, _, err = open.WithStored(ctx, outside, l.Store, settings.Ledger, false); err != nil {
		return openedConsole{}, errors.Join(err, l.Store.Close())
	}
	return openedConsole{ledger: l.Reading(), where: l.Where, settings: settings, close: l.Store.Close}, nil
}

// serve answers with the pages until ctx ends. Without a topic it also runs the effects of actions.
func (o openedConsole) serve(ctx context.Context, outside terminal.Environment, port int) error {
	settings := o.settings
	options := console.Options{
		Ledger: o.ledger, Location: o.where.Store, Interval: settings.Ledger.Interval, Settings: config.Describe(settings),
		Effects: phrase.EffectView{
			Max: settings.Ledger.MaxAttempts, RetryFor: settings.Ledger.RetryFor, Paused: settings.Handlers.Paused,
			Store: o.where.Absolute().String(),
		},
		Log: logging.New(outside.Err, ""), Version: terminal.Version(),
		Receivers: spec.Receivers(settings.Ledger.Effects), Rules: settings.Ledger.EffectNames(),
		Serve: o.where.Serve,
	}
	if !settings.Ledger.Taken() && settings.Ledger.EffectsText == "" {
		options.Rules = nil // those of the workers are not known
	}
	acts := ""
	if o.server != nil {
		options.Actions, acts = o.server.Actions(), "; actions are allowed"
		options.Actions.EndPause = o.where.ResumeEffects
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("opening the port: %w; choose another with --port", err)
	}
	if _, err := fmt.Fprintf(outside.Out, "the console is on http://%s, for this machine alone%s; press Ctrl-C to stop\n",
		listener.Addr(), acts); err != nil {
		return errors.Join(fmt.Errorf("writing to stdout: %w", err), listener.Close())
	}
	ctx, end := context.WithCancel(ctx)
	var working sync.WaitGroup
	if o.server != nil {
		working.Go(func() { o.server.Work(ctx) })
	}
	err = server.ServeConsole(ctx, console.New(options.Limited()), listener, options.Log)
	end()
	working.Wait()
	return err
}
