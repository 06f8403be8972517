package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
)

// errNoTopic: a deployed ledger's effects are run by the effects function alone.
var errNoTopic = errors.New(
	"OPLEDGER_TOPIC: it is not set; the effects function receives messages from that Pub/Sub topic")

// newNonce is the value of --rerun without a nonce. No valid nonce equals it.
const newNonce = "-"

func newReplay(outside environment) *cobra.Command {
	var store, by, rerun string
	var dryRun, yes, asJSON bool
	var selection replaySelection
	cmd := &cobra.Command{
		Use:   "replay [NAME]",
		Short: "Run effects again",
		Long: "Publishes a message for each effect to $OPLEDGER_TOPIC, as `gcloud pubsub topics publish` can. With a\n" +
			"ledger in a file and no topic, it runs the effects in this process.\n\n" +
			"A dead or waived effect is reopened, with all its attempts again. Of one that runs once per item, only\n" +
			"the items that failed or are not done are tried. An open effect is tried as by any message. A done\n" +
			"effect is skipped; with --rerun it runs once more, as a run of its own with its own key. While effects\n" +
			"are paused, messages are accepted, and run when the pause ends. Where this process runs the effects,\n" +
			"set OPLEDGER_EFFECTS_PAUSED=true for it, too: it cannot see the pause of another process.\n\n" +
			"Name an operation, or select several. For several, and with --rerun, it prints how many effects those\n" +
			"are, and asks.",
		Example: "  opledger replay batches/abc123\n" +
			"  opledger replay batches/abc123 --effect publish --rerun\n" +
			"  opledger replay --dead --since 24h --dry-run\n" +
			"  opledger replay --dead --job-kind 'nightly-*' --yes",
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			selection.rerun = cmd.Flags().Changed("rerun")
			nonce, nonceErr := chooseNonce(selection.rerun, rerun)
			settings, where, err := parse[writerSettings](outside, store)
			if where.SQLite == "" && where.topic == "" && err == nil {
				err = errNoTopic
			}
			if err := errors.Join(selection.parse(args, time.Now()), nonceErr, err); err != nil {
				return usageError{err}
			}
			if by == "" {
				if by, err = operatorName(); err != nil {
					return err
				}
			}
			return withReplayer(cmd.Context(), outside, settings, where, func(r *replayer) error {
				r.by, r.nonce, r.dryRun, r.yes, r.asJSON = by, nonce, dryRun, yes, asJSON
				return r.replay(cmd.Context(), selection)
			})
		},
	}
	storeFlag(cmd, &store)
	selection.flags(cmd)
	rerunFlag(cmd, &rerun)
	cmd.Flags().StringVar(&by, "by", "", "who asks for it, which is recorded (default the user of this machine)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what would run again, and publish nothing")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// rerunFlag adds --rerun[=NONCE], which is also accepted as --anew.
func rerunFlag(cmd *cobra.Command, nonce *string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "anew" {
			name = "rerun"
		}
		return pflag.NormalizedName(name)
	})
	cmd.Flags().StringVar(nonce, "rerun", "", "run even what is done, as a run of its own; the same `NONCE` always means "+
		"the same run (default a new one; alias --anew)")
	cmd.Flags().Lookup("rerun").NoOptDefVal = newNonce
}

// chooseNonce returns the nonce of the runs that --rerun asks for; without the flag there is none.
func chooseNonce(rerun bool, nonce string) (string, error) {
	switch {
	case !rerun:
		return "", nil
	case nonce == newNonce:
		return actions.NewNonce(time.Now()), nil
	case nonce == "":
		return "", errors.New("--rerun: the nonce is empty; leave it out to get a new one")
	}
	if err := (ledger.Message{Effect: "any", Rerun: nonce}).Validate(); err != nil {
		return "", fmt.Errorf("--rerun: %w", err)
	}
	return nonce, nil
}

// A replayer publishes messages for selected effects, or runs them in this process.
type replayer struct {
	outside             environment
	server              *server.Server
	topic               string // empty: effects are run in this process
	paused              bool   // effects are not run in this process, only accepted
	by, nonce           string
	dryRun, yes, asJSON bool
}

func withReplayer(
	ctx context.Context, outside environment, settings writerSettings, where location, do func(*replayer) error,
) error {
	if err := where.exists(); err != nil {
		return err
	}
	if where.topic == "" {
		printEffectNames(outside, settings.Ledger)
	}
	s, closeStore, err := openServer(ctx, outside, server.Settings{
		Project: settings.Project, Ledger: settings.Ledger, Handlers: settings.Handlers, Results: settings.Results,
	}, where, server.Options{Log: logging.New(outside.err, "")})
	if err != nil {
		return err
	}
	paused := where.topic == "" && settings.Handlers.Paused
	return errors.Join(do(&replayer{outside: outside, server: s, topic: where.topic, paused: paused}), closeStore())
}

// replay selects effects, prints them, asks if they are several, and publishes a message for each.
func (r *replayer) replay(ctx context.Context, selection replaySelection) error {
	targets, broken, err := selection.find(ctx, r.server.Ledger)
	if err != nil {
		return err
	}
	for _, b := range broken {
		_, _ = fmt.Fprintf(r.outside.err, "opledger: %s %s\n", phrase.Safe(string(b.Path)), phrase.Broken(b))
	}
	if err := r.checkRules(ctx, targets); err != nil {
		return err
	}
	if r.dryRun || len(targets) == 0 {
		return r.report(targets, 0)
	}
	asks := selection.name.Key == "" || selection.rerun && len(targets) > 1
	if asks && !r.yes && !confirmed(r.outside, "Run "+howMany(targets)+" again?") {
		return errors.New("nothing was published; answer y, or pass --yes")
	}
	p := newProgress(r.outside)
	defer p.end()
	for i, target := range targets {
		p.say(fmt.Sprintf("%d of %s", i, howMany(targets)))
		m := ledger.Message{
			Operation: target.Operation, Effect: target.Effect, Rerun: r.nonce, By: r.by, ID: "replay-" + rand.Text(),
		}
		if r.topic == "" {
			if targets[i], err = r.run(ctx, m, target); err != nil {
				return err
			}
			continue
		}
		if err := r.server.Publish(ctx, m); err != nil {
			next := "the same command again is safe"
			if r.nonce != "" {
				next = "continue with --rerun=" + r.nonce + ", which does not repeat what has been published"
			}
			return fmt.Errorf("%d of %d messages were published, then: %w; %s", i, len(targets), err, next)
		}
	}
	p.end()
	return errors.Join(r.report(targets, len(targets)), r.undone(targets))
}
