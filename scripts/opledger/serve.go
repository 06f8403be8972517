package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/logging"
)

// listenSettings say where to listen.
type listenSettings struct {
	Port config.Port
}

func newServe(outside environment) *cobra.Command {
	var store, host string
	var port int
	var schedule bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the four functions on one port",
		Long: "Runs the four functions on one port: POST /webhook, /register, /reconcile, /effects, and GET /health.\n" +
			"Effects are handed over inside the process, or published to $OPLEDGER_TOPIC if that is set.\n" +
			"Only /webhook checks who calls it; deployed, the other three rely on IAM. So it listens on loopback unless\n" +
			"told otherwise. One line on stdout says when it is ready; the log goes to stderr. SIGTERM ends it: what is\n" +
			"in progress is finished or released first.",
		Example: "  GEMINI_API_KEY=… OPLEDGER_WEBHOOK_SECRET=whsec_… opledger serve\n" +
			"  opledger serve --port 9000 --store sqlite:/var/lib/opledger/ledger.db",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			listen, portErr := choosePort(cmd, outside, port)
			settings, where, err := parse[server.Settings](outside, store)
			if err := errors.Join(portErr, err); err != nil {
				return usageError{err}
			}
			interval := settings.Ledger.Interval
			if !schedule {
				interval = 0
			}
			s, closeStore, err := openServer(ctx, outside, settings, where, interval, logging.New(outside.err, ""))
			if err != nil {
				return err
			}
			listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(listen)))
			if err != nil {
				return errors.Join(fmt.Errorf("opening the port: %w; choose another with --port", err), closeStore())
			}
			if _, err := fmt.Fprintf(outside.out, "opledger serves on http://%s\n", listener.Addr()); err != nil {
				return errors.Join(fmt.Errorf("writing to stdout: %w", err), listener.Close(), closeStore())
			}
			return errors.Join(s.Serve(ctx, listener), closeStore())
		},
	}
	storeFlag(cmd, &store)
	cmd.Flags().IntVar(&port, "port", 8080, "port to listen on; 0 takes a free one (default $PORT, else 8080)")
	cmd.Flags().StringVar(&host, "host", "127.0.0.1", "address to listen on")
	cmd.Flags().BoolVar(&schedule, "schedule", true, "make a reconcile pass every $OPLEDGER_INTERVAL, as Cloud Scheduler does")
	return cmd
}

// choosePort returns the port that the flag or else the environment names.
func choosePort(cmd *cobra.Command, outside environment, flag int) (int, error) {
	variable, port := "--port", flag
	if !cmd.Flags().Changed("port") {
		settings, err := config.Parse[listenSettings](outside.variables)
		if err != nil {
			return 0, err
		}
		variable, port = "PORT", settings.Port.Number
	}
	if port < 0 || port > 65535 {
		return 0, fmt.Errorf("%s: it must be from 0 to 65535, not %d", variable, port)
	}
	return port, nil
}
