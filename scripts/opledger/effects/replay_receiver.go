package effects

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/receivers"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// findReceiver returns the dead effects of a receiver, those that back off where that ends, and where no serve runs,
// those that wait for one.
func (s replaySelection) findReceiver(
	ctx context.Context, l *ledger.Ledger, hosts map[string]string,
) (found replayFound, err error) {
	all, err := receivers.Read(ctx, l.Reading(), receivers.Options{Hosts: hosts, Troubled: true, Open: s.serve.Down()})
	if err != nil {
		return found, err
	}
	found.broken = all.Broken
	known := slices.Sorted(maps.Values(hosts))
	for _, g := range all.Groups {
		switch g.Receiver {
		case "":
			found.unplaced += s.unplaced(g, l.Settings().Rules)
			continue
		case s.receiver:
		default:
			known = append(known, g.Receiver)
			continue
		}
		known = append(known, g.Receiver)
		chosen := slices.Concat(g.Dead, g.Waiting)
		if s.now && !s.dead {
			chosen = slices.Concat(chosen, g.Failing)
		}
		for _, e := range chosen {
			switch {
			case !s.meant(e):
			case s.dead && e.Status() != operation.EffectDead:
				found.waiting.N++
			default:
				found.targets = append(found.targets, replayTarget{Operation: e.Operation, Effect: e.Name, Status: e.Status()})
			}
		}
	}
	found.none = "no selected effect of " + phrase.Safe(s.receiver) + " is dead"
	switch {
	case !slices.Contains(known, s.receiver):
		found.none = "no effect that failed is known to be of " + phrase.Safe(s.receiver) +
			diag.DidYouMean(s.receiver, known)
	case s.now && !s.dead:
		found.none += ", or backs off"
	}
	return found, nil
}

// meant reports whether an effect of a receiver is one that the flags choose.
func (s replaySelection) meant(e ledger.Effect) bool {
	named := s.effect == "" || e.Name == s.effect || ledger.RuleOf(e.Name) == s.effect
	return named && s.chooses(e, e.CreatedAt)
}

// unplaced counts the effects of a group without a receiver that wait, and may be the receiver's all the same: none has
// failed, and what serve has of them is not known here.
func (s replaySelection) unplaced(g receivers.Group, rules []ledger.Rule) (n int) {
	if job.IsStep(g.Effect) || s.own && ledger.Plans(rules, g.Effect) {
		return 0
	}
	for _, e := range g.Waiting {
		if s.meant(e) {
			n++
		}
	}
	return n
}

// stranded returns an error where nothing was selected, and effects wait that no process runs, such as after a replay
// that left them to a serve which does not run.
func (r *replayer) stranded(run *replayRun) error {
	if len(run.targets) > 0 || run.waiting.N+run.unplaced == 0 {
		return nil
	}
	var words []string
	if n := run.waiting; n.N == 1 && !n.More {
		words = append(words, "1 effect is open")
	} else if n.N > 0 {
		words = append(words, n.String()+" effects are open")
	}
	if run.unplaced > 0 {
		words = append(words, counted(run.unplaced, "is", "are")+" open whose receiver is not known here")
	}
	here := ""
	switch {
	case r.writer.Left:
		here = r.orHere(nil)
	case run.waiting.N > 0:
		here = ", or select what is to run here by a name or by --receiver, without --dead"
	}
	serve := run.selection.serve
	return fmt.Errorf("not done: %s. %s; %s%s", strings.Join(words, ", and "), phrase.Sentence(serve.Words()),
		serve.Again(open.NamedFlag(r.outside)), here)
}

// canTry returns an error where no receiver can be tried now: in a pause, and where the effects would be left to a
// serve that does not answer, so that nothing would say what the receiver does.
func (r *replayer) canTry(ctx context.Context, run *replayRun) error {
	if r.writer.Paused {
		return fmt.Errorf("effects are paused, so that no receiver can be tried; %s", r.nothing())
	}
	if !r.writer.Left {
		return nil
	}
	err := r.where.AskServe(ctx, "/unperformable", nil, nil)
	if _, answers := errors.AsType[*httpfunc.Error](err); err == nil || answers { // an older serve has no such route
		return nil
	}
	return fmt.Errorf("%w; %s of %s: %s%s", err, r.nothing(), howMany(run.targets), r.where.ServeAgain(err),
		r.orHere(run.targets))
}

// orHere says how a command runs itself what it would leave to serve: the targets, or what the workers plan. It does
// not run an effect of --forward-to, which only serve signs as it did before, and may post to this machine.
func (r *replayer) orHere(targets []replayTarget) string {
	if slices.ContainsFunc(targets, replayTarget.forwards) ||
		ledger.Plans(r.writer.Ledger.Settings().Rules, overview.ForwardEffect) {
		return ""
	}
	return ", or set OPLEDGER_EFFECTS, and each variable OPLEDGER_EFFECT_…, here as serve has them"
}

// forwards reports whether --forward-to of serve has made the effect.
func (t replayTarget) forwards() bool { return ledger.RuleOf(t.Effect) == overview.ForwardEffect }

// carefully sends a message for the first target, and for more only while the receiver accepts what it gets.
func (r *replayer) carefully(ctx context.Context, run *replayRun) error {
	run.careful = true
	waiting, cancel := r.bounded(ctx)
	defer cancel()
	for wave, refused := 1, 0; run.sent < len(run.targets); {
		first := run.sent
		err := r.send(ctx, run, min(first+wave, len(run.targets)))
		if err == nil && !r.here() {
			err = r.wake(ctx, run, first)
		}
		if err == nil && !r.here() {
			err = r.wait(waiting, run, indices(run.sent)[first:])
		}
		if err == nil {
			err = run.refusal()
		}
		if err != nil {
			return err
		}
		if !r.here() {
			all := len(run.refused())
			wave, refused = actions.NextWave(wave, all-refused, all), all
		}
	}
	return nil
}

// wake has serve run what was left to it, where it was: the targets from the first on that were sent.
func (r *replayer) wake(ctx context.Context, run *replayRun, first int) error {
	err := r.writer.Wake(ctx)
	if err == nil {
		return nil
	}
	_, lookErr := r.look(ctx, run, indices(run.sent)[first:])
	return errors.Join(fmt.Errorf("asking serve to run them: %w; its next sweep does", err), lookErr)
}

// refusal returns an error where the receiver does not accept what it gets.
func (run *replayRun) refusal() error {
	left, rest := len(run.targets)-run.sent, ""
	if left > 0 {
		rest = ". " + counted(left, "was", "were") + " not tried"
	}
	for _, t := range run.targets[:run.sent] {
		if t.failed {
			return fmt.Errorf("stopped after %d of %d: %s failed again, and backs off; opledger show says why%s",
				run.sent, len(run.targets), t.title(), rest)
		}
	}
	dead := run.refused()
	if len(dead) < actions.MostRefused || left == 0 {
		return nil
	}
	return fmt.Errorf("stopped after %d of %d: refused for good are %s; opledger show says why%s",
		run.sent, len(run.targets), strings.Join(dead[:actions.MostRefused], ", "), rest)
}

// refused are the titles of those that were refused for good.
func (run *replayRun) refused() (dead []string) {
	for _, t := range run.targets[:run.sent] {
		if t.ran && t.Status == operation.EffectDead {
			dead = append(dead, t.title())
		}
	}
	return dead
}

// title names the effect and its operation.
func (t replayTarget) title() string {
	return fmt.Sprintf("%s of %s", phrase.Safe(t.Effect), phrase.Safe(string(t.Operation)))
}

// counted is a number of effects with a verb.
func counted(n int, one, several string) string {
	if n == 1 {
		return phrase.Counted(n, "effect") + " " + one
	}
	return phrase.Counted(n, "effect") + " " + several
}
