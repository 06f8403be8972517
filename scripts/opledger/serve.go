package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/logging"
)

func newServe(outside environment) *cobra.Command {
	var store string
	var listen listenFlags
	var schedule bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the four functions on one port",
		Long: "Runs the four functions on one port: POST /webhook, /register, /reconcile, /effects, and GET\n" +
			"/operations/NAME, /health; and at / the console, for a browser on this machine. Effects are run inside\n" +
			"the process, or published to $OPLEDGER_TOPIC if that is set.\n\n" +
			"/webhook verifies signatures, and /health is public. The other routes answer callers on this machine.\n" +
			"From elsewhere a caller must send $OPLEDGER_SERVE_TOKEN as a bearer token. A page of another origin is\n" +
			"refused, and so is one whose name was rebound to this machine. /effects accepts Pub/Sub's pushes from\n" +
			"elsewhere if $OPLEDGER_PUSH_AUDIENCE and $OPLEDGER_PUSH_ACCOUNT are set. If a tunnel brings the\n" +
			"deliveries, let it end at --webhook-listen, which answers /webhook alone.\n\n" +
			"A line on stdout says when it is ready; the log goes to stderr. On SIGTERM it finishes or releases what\n" +
			"is in progress, and ends.",
		Example: "  GEMINI_API_KEY=… OPLEDGER_WEBHOOK_SECRET=whsec_… opledger serve\n" +
			"  opledger serve --port 9000 --store sqlite:/var/lib/opledger/ledger.db\n" +
			"  opledger serve --webhook-listen 127.0.0.1:8081\n" +
			"  OPLEDGER_SERVE_TOKEN=… opledger serve --host 0.0.0.0 --allow-host ledger.example",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			at, listenErr := listen.check(cmd, outside)
			settings, where, err := parse[server.Settings](outside, store)
			if err := errors.Join(listenErr, err); err != nil {
				return usageError{err}
			}
			interval := settings.Ledger.Interval
			if !schedule {
				interval = 0
			}
			options := server.Options{
				Log: logging.New(outside.err, ""), Schedule: interval, AllowHosts: listen.allowHosts, LateSecret: true,
				Console: true, Where: where.String(), StoreFlag: where.String(),
			}
			s, closeStore, err := openServer(ctx, outside, settings, where, options)
			if err != nil {
				return err
			}
			for _, line := range s.CheckEffects(ctx) {
				_, _ = fmt.Fprintln(outside.err, "opledger: "+line) // it is also in the log
			}
			return errors.Join(serve(ctx, outside, s, at), closeStore())
		},
	}
	storeFlag(cmd, &store)
	listen.add(cmd)
	cmd.Flags().BoolVar(&schedule, "schedule", true,
		"make a reconcile pass every $OPLEDGER_INTERVAL, as Cloud Scheduler does; if false, only run due effects")
	return cmd
}

// serve opens the ports, prints that it is ready, and answers until ctx ends.
func serve(ctx context.Context, outside environment, s *server.Server, at addresses) error {
	listener, webhooks, err := at.listen()
	if err != nil {
		return err
	}
	ready := fmt.Sprintf("opledger serves on http://%s\n", listener.Addr())
	for _, l := range webhooks {
		ready += fmt.Sprintf("opledger serves /webhook alone on http://%s\n", l.Addr())
	}
	if _, err := io.WriteString(outside.out, ready); err != nil {
		for _, l := range append(webhooks, listener) {
			err = errors.Join(err, l.Close())
		}
		return fmt.Errorf("writing to stdout: %w", err)
	}
	return s.Serve(ctx, listener, webhooks...)
}
