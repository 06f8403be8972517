package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
)

// newNonce is what --anew without a nonce says: no nonce looks like it.
const newNonce = "-"

func newReplay(outside environment) *cobra.Command {
	var store, by, anew string
	var dryRun, yes, asJSON bool
	var choice replayChoice
	cmd := &cobra.Command{
		Use:   "replay [NAME]",
		Short: "Run effects again",
		Long: "Publishes one message for each effect to $OPLEDGER_TOPIC, as `gcloud pubsub topics publish` does by hand; with a ledger in a\n" +
			"file and no topic it runs them in this process. What is dead, or waived, is reopened with all its attempts before it, and of\n" +
			"an effect that runs once per item only what failed, or was not done yet, is performed; what\n" +
			"is open is tried as by any message; what is done is skipped, and with --anew run once more, as a run of its own with a key\n" +
			"of its own. While effects are paused all that is taken in, and runs when the pause ends; where this process runs them,\n" +
			"OPLEDGER_EFFECTS_PAUSED=true must be set for it, too: it does not know of the pause of another process. Name an operation,\n" +
			"or choose some: of several, and with --anew, it says how many effects those are, and asks.",
		Example: "  opledger replay batches/abc123\n" +
			"  opledger replay batches/abc123 --effect publish --anew\n" +
			"  opledger replay --dead --since 24h --dry-run\n" +
			"  opledger replay --dead --job-kind 'nightly-*' --yes",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			choice.anew = cmd.Flags().Changed("anew")
			nonce, nonceErr := chooseNonce(choice.anew, anew)
			settings, where, err := parse[writerSettings](outside, store)
			if where.SQLite == "" && where.topic == "" && err == nil {
				err = errors.New("OPLEDGER_TOPIC: it is not set; the effects function takes messages from that Pub/Sub topic")
			}
			if err := errors.Join(choice.parse(args, time.Now()), nonceErr, err); err != nil {
				return usageError{err}
			}
			if by == "" {
				if by, err = whoTypes(); err != nil {
					return err
				}
			}
			return withReplayDesk(cmd.Context(), outside, settings, where, func(d *replayDesk) error {
				d.by, d.nonce, d.dryRun, d.yes, d.asJSON = by, nonce, dryRun, yes, asJSON
				return d.replay(cmd.Context(), choice)
			})
		},
	}
	storeFlag(cmd, &store)
	choice.flags(cmd)
	cmd.Flags().StringVar(&anew, "anew", "", "run even what is done, as a run of its own; the same NONCE again is the same run (default: one made up)")
	cmd.Flags().Lookup("anew").NoOptDefVal = newNonce
	cmd.Flags().StringVar(&by, "by", "", "who asks for it, to be recorded (default the user of this machine)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be run again, and publish nothing")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// chooseNonce returns the nonce of the runs that --anew asks for, or nothing.
func chooseNonce(anew bool, nonce string) (string, error) {
	switch {
	case !anew:
		return "", nil
	case nonce == newNonce:
		return time.Now().UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:8]), nil
	case nonce == "":
		return "", errors.New("--anew: the nonce is empty; leave it out to have one made up")
	}
	if err := (ledger.Message{Effect: "any", Rerun: nonce}).Validate(); err != nil {
		return "", fmt.Errorf("--anew: %w", err)
	}
	return nonce, nil
}

// A replayDesk is what replaying works with.
type replayDesk struct {
	outside             environment
	server              *server.Server
	topic               string // empty: effects are run in this process
	paused              bool   // effects are not run in this process, only taken in
	by, nonce           string
	dryRun, yes, asJSON bool
}

func withReplayDesk(ctx context.Context, outside environment, settings writerSettings, where place, do func(*replayDesk) error) error {
	if err := where.exists(); err != nil {
		return err
	}
	if where.topic == "" {
		sayEffects(outside, settings.Ledger)
	}
	s, closeStore, err := openServer(ctx, outside, server.Settings{
		Project: settings.Project, Ledger: settings.Ledger, Handlers: settings.Handlers, Results: settings.Results,
	}, where, server.Options{Log: logging.New(outside.err, "")})
	if err != nil {
		return err
	}
	d := &replayDesk{outside: outside, server: s, topic: where.topic, paused: where.topic == "" && settings.Handlers.Paused}
	return errors.Join(do(d), closeStore())
}

// replay chooses effects, says which, asks where that is due, and hands a message over for each.
func (d *replayDesk) replay(ctx context.Context, choice replayChoice) error {
	lines, broken, err := choice.choose(ctx, d.server.Ledger)
	if err != nil {
		return err
	}
	for _, b := range broken {
		_, _ = fmt.Fprintf(d.outside.err, "opledger: %s %s\n", dash(string(b.Path)), unreadable(b))
	}
	if err := d.known(ctx, lines); err != nil {
		return err
	}
	if d.dryRun || len(lines) == 0 {
		return d.report(lines, 0)
	}
	if (choice.name.Key == "" || choice.anew && len(lines) > 1) && !d.yes && !agreed(d.outside, "Run "+howMany(lines)+" again?") {
		return errors.New("nothing was published; answer y, or pass --yes")
	}
	for i, line := range lines {
		m := ledger.Message{Operation: line.Operation, Effect: line.Effect, Rerun: d.nonce, By: d.by, ID: "replay-" + rand.Text()}
		if d.topic == "" {
			if lines[i], err = d.run(ctx, m, line); err != nil {
				return err
			}
			continue
		}
		if err := d.server.Publish(ctx, m); err != nil {
			again := "the same command again is safe"
			if d.nonce != "" {
				again = "go on with --anew=" + d.nonce + ", which does not run what has been published once more"
			}
			return fmt.Errorf("%d of %d messages were published, then: %w; %s", i, len(lines), err, again)
		}
	}
	return errors.Join(d.report(lines, len(lines)), d.undone(lines))
}
