// Package effects has the commands about side effects: replay and waive. A replay chooses effects
// (replay_select.go, and replay_receiver.go by receiver), runs or publishes them (replay_run.go), waits for their
// outcome (replay_wait.go) and says what became of them (replay_report.go).
package effects

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/operation"
)

// NewReplay makes opledger replay.
func NewReplay(outside terminal.Environment) *cobra.Command {
	var rerun nonceFlag
	var r replayer
	var selection replaySelection
	cmd := &cobra.Command{
		Use:   "replay [NAME]",
		Short: "Run effects again",
		Long: "Runs the effects of one operation again, or of all that the flags select. Before it runs those of\n" +
			"several operations, or reruns any, it prints their number and asks.\n\n" +
			"A dead or waived effect is reopened, and its attempts are counted from zero. Of one that runs once per\n" +
			"item, only the items that failed or are not done are tried. An open effect is tried, unless it backs off:\n" +
			"then the command says until when, and --now ends that. A done effect is skipped; with --rerun it runs\n" +
			"once more, as a run of its own with its own key.\n\n" +
			"With --without it plans an effect for the operations that ended while it was left out, because serve, or a\n" +
			"deployment, began without it. The effect must be planned again: start serve with it first. Where all of\n" +
			"them have it then, status says no more of it.\n\n" +
			"With --receiver it runs the dead effects that one host gets, and with --now those that back off, too;\n" +
			"where no opledger serve runs, also those that wait for one. It tries one first. Where that fails and is to\n" +
			"be retried, or three are refused for good, it stops. Where neither OPLEDGER_EFFECTS is set nor opledger\n" +
			"serve runs, it runs nothing, and says what to start.\n\n" +
			"With $OPLEDGER_TOPIC it publishes a message for each effect, waits until each is done or dead again,\n" +
			"and prints their outcomes. It reads at most 50 documents a second. Interrupt it to stop waiting:\n" +
			"the effects go on. With a ledger in a file and no topic it runs the effects in this process.\n\n" +
			"It exits with 1 unless every effect is done. In a pause of this process, accepted is enough; with\n" +
			"--no-wait, published.\n\n" +
			"While effects are paused, messages are accepted, and the effects run when the pause ends. Where this\n" +
			"process runs the effects, it obeys the pause of opledger serve. With OPLEDGER_EFFECTS_PAUSED=false it\n" +
			"runs them anyway.",
		Example: "  opledger replay batches/abc123\n" +
			"  opledger replay batches/abc123 --effect publish --rerun\n" +
			"  opledger replay --dead --since 24h --dry-run\n" +
			"  opledger replay --receiver hooks.example.com --now\n" +
			"  opledger replay --without publish\n" +
			"  opledger replay --dead --job-kind 'nightly-*' --yes",
		Args: replayArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			selection.rerun, selection.store = cmd.Flags().Changed("rerun"), open.NamedFlag(outside)
			nonce, nonceErr := chooseNonce(selection.rerun, rerun)
			settings, where, err := open.Parse[open.WriterSettings](outside)
			if !where.IsFile() && where.Topic == "" && err == nil {
				err = open.ErrNoTopic
			}
			if r.timeout < 0 {
				err = errors.Join(err, fmt.Errorf("--timeout: it must not be below zero, not %v", r.timeout))
			}
			if r.noWait && selection.receiver != "" {
				err = errors.Join(err, errors.New("--no-wait: with --receiver each outcome decides about the rest; leave it out"))
			}
			selection.file = where.IsFile()
			if err := errors.Join(selection.parse(args, time.Now()), nonceErr, err); err != nil {
				return terminal.Usage(err)
			}
			r.outside, r.where = outside, where
			r.where.ReadOnly = r.dryRun
			r.writer, err = open.Write(cmd.Context(), outside, settings.Server(), r.where, server.Options{})
			if err != nil {
				return err
			}
			return errors.Join(r.replay(cmd.Context(), selection, nonce), r.writer.Close())
		},
	}
	open.WriterFlags(cmd, &outside)
	selection.flags(cmd)
	rerunFlag(cmd, &rerun)
	terminal.YesFlag(cmd, &outside)
	r.flags(cmd)
	return cmd
}

// A replayer publishes messages for selected effects, or runs them in this process.
type replayer struct {
	outside        terminal.Environment
	where          open.Location // without a topic effects are run in this process, or left to serve
	writer         open.Writer
	by             string
	dryRun, noWait bool
	timeout        time.Duration // of the waiting; 0: none
}

func (r *replayer) flags(cmd *cobra.Command) {
	terminal.ByFlag(cmd, &r.by, "who asks for it, which is recorded")
	flags := cmd.Flags()
	flags.BoolVar(&r.dryRun, "dry-run", false, "print what would run again; run nothing, and publish nothing")
	flags.BoolVar(&r.noWait, "no-wait", false, "with a topic: publish the messages, and wait for no outcome")
	flags.DurationVar(&r.timeout, "timeout", 0, "with a topic: stop waiting after this long; 0: never")
}

// here reports whether the effects are run in this process.
func (r *replayer) here() bool { return r.where.Topic == "" && !r.writer.Left }

// nothing says that nothing has begun.
func (r *replayer) nothing() string {
	if r.where.Topic == "" {
		return "nothing was run"
	}
	return "nothing was published"
}

// A replayRun is what one call of replay does.
type replayRun struct {
	replayFound
	selection replaySelection
	began     time.Time // by the store's clock
	nonce     string    // of --rerun; empty without it
	careful   bool      // one attempt is an outcome
	sent      int       // messages for the first of the targets
}

// replay selects effects, asks where it must, sends a message for each, and prints what became of
// them.
func (r *replayer) replay(ctx context.Context, selection replaySelection, nonce string) error {
	if r.where.Topic == "" && selection.mayMiss() {
		selection.serve, selection.own = r.where.Serve(ctx), !r.writer.Left
	}
	run, err := r.choose(ctx, selection, nonce)
	if err != nil {
		return err
	}
	if selection.without != "" && !r.dryRun && len(run.targets) == 0 {
		return errors.Join(r.report(run, false), r.endLeftOut(ctx, run))
	}
	if r.dryRun || len(run.targets) == 0 {
		return errors.Join(r.report(run, false), r.stranded(run))
	}
	if selection.receiver != "" {
		if err := r.canTry(ctx, run); err != nil {
			return err
		}
	}
	asks := selection.name.Key == "" || selection.rerun // a rerun repeats what its receiver has done
	if asks {
		question := "Run " + howMany(run.targets) + " again?"
		if selection.without != "" {
			question = "Plan and run " + howMany(run.targets) + "?"
		}
		if err := terminal.Agree(ctx, r.outside, question, r.nothing()); err != nil {
			return err
		}
	}
	if run.nonce != "" { // before anything is sent: a kill leaves no other word of a nonce that was made up
		r.outside.Note("these runs are @%s; if this command is cut off, continue with --rerun=%[1]s", run.nonce)
	}
	if selection.receiver != "" {
		if err = r.carefully(ctx, run); err == nil {
			err = r.undone(run.targets)
		}
		return errors.Join(r.report(run, true), err)
	}
	err = r.send(ctx, run, len(run.targets))
	var unasked error
	if err == nil && r.writer.Left {
		unasked = r.writer.Wake(ctx)
		r.noWait = r.noWait || r.writer.Paused || unasked != nil
	}
	waits := !r.here() && !r.noWait
	switch {
	case err == nil && waits:
		waiting, cancel := r.bounded(ctx)
		defer cancel()
		err = r.wait(waiting, run, indices(len(run.targets)))
	case err == nil && r.writer.Left:
		_, err = r.look(ctx, run, indices(run.sent))
	}
	if err == nil && unasked != nil && !r.writer.Paused {
		err = fmt.Errorf("not done: %w; %s", unasked, r.where.ServeAgain(unasked))
	}
	if err == nil && selection.without != "" {
		err = r.endLeftOut(ctx, run)
	}
	if err == nil && (waits || r.here()) {
		err = r.undone(run.targets)
	}
	return errors.Join(r.report(run, true), err)
}

// choose returns the run that the selection makes.
func (r *replayer) choose(ctx context.Context, selection replaySelection, nonce string) (*replayRun, error) {
	now, err := r.writer.Ledger.Now(ctx)
	if err != nil {
		return nil, err
	}
	found, err := selection.find(ctx, r.writer.Ledger, spec.Receivers(r.writer.Settings.Effects))
	if err != nil {
		return nil, open.WithRemedy(err, r.outside)
	}
	for _, b := range found.broken {
		r.outside.Note("%s %s", phrase.Safe(string(b.Path)), phrase.Broken(b))
	}
	run := &replayRun{replayFound: found, selection: selection, began: operation.Instant(now), nonce: nonce}
	return run, r.checkRules(ctx, run.targets)
}
