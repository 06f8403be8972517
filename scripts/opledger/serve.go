package main

import (
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
		Long: "Runs the four functions on one port: POST /webhook, /register, /reconcile, /effects, and GET /health.\n" +
			"Effects are handed over inside the process, or published to $OPLEDGER_TOPIC if that is set.\n" +
			"/webhook verifies signatures, and /health is public. The others answer callers on this machine, and none from\n" +
			"elsewhere unless they show $OPLEDGER_SERVE_TOKEN as a bearer token; a page of another origin may not call them,\n" +
			"nor one whose name was rebound to this machine. /effects takes Pub/Sub's pushes from elsewhere where\n" +
			"$OPLEDGER_PUSH_AUDIENCE and $OPLEDGER_PUSH_ACCOUNT say which. Where a tunnel brings the deliveries, let it end at\n" +
			"--webhook-listen, which answers /webhook alone.\n\n" +
			"A line on stdout says when it is ready; the log goes to stderr. SIGTERM ends it: what is in progress is finished\n" +
			"or released first.",
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
			options := server.Options{Log: logging.New(outside.err, ""), Schedule: interval, AllowHosts: listen.allowHosts, LateSecret: true}
			s, closeStore, err := openServer(ctx, outside, settings, where, options)
			if err != nil {
				return err
			}
			for _, line := range s.CheckEffects(ctx) {
				_, _ = fmt.Fprintln(outside.err, "opledger: "+line) // the log says it, too
			}
			listener, webhooks, err := at.listen()
			if err != nil {
				return errors.Join(err, closeStore())
			}
			ready := fmt.Sprintf("opledger serves on http://%s\n", listener.Addr())
			for _, l := range webhooks {
				ready += fmt.Sprintf("opledger serves /webhook alone on http://%s\n", l.Addr())
			}
			if _, err := io.WriteString(outside.out, ready); err != nil {
				for _, l := range append(webhooks, listener) {
					err = errors.Join(err, l.Close())
				}
				return errors.Join(fmt.Errorf("writing to stdout: %w", err), closeStore())
			}
			return errors.Join(s.Serve(ctx, listener, webhooks...), closeStore())
		},
	}
	storeFlag(cmd, &store)
	listen.add(cmd)
	cmd.Flags().BoolVar(&schedule, "schedule", true, "make a reconcile pass every $OPLEDGER_INTERVAL, as Cloud Scheduler does; if not, only hand over due effects")
	return cmd
}
