package effects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A replaySelection says which effects to run again.
type replaySelection struct {
	name   open.OperationName // one operation; the zero value: those that the filter finds
	effect string
	dead   bool
	rerun  bool

	filter   open.Filter
	since    string         // as typed
	why      string         // only dead effects whose last error contains this
	receiver string         // the host that gets the effects; empty: any
	without  string         // an effect that was left out: of operations that ended without it
	now      bool           // a back-off ends
	serve    overview.Serve // what is known of the serve that effects may have been left to
	own      bool           // the effects that may be planned are those of the command's own settings
	store    string         // what commands end with
	file     bool           // the ledger is a file
	after    time.Time      // only what ended, or with dead: died, later
}

func (s *replaySelection) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.effect, "effect", "", "only this effect and its reruns, or one run, EFFECT@NONCE")
	cmd.Flags().BoolVar(&s.dead, "dead", false, "only effects that are dead")
	s.filter.Add(cmd)
	cmd.Flags().StringVar(&s.since, "since", "", "only operations that ended, or with --dead effects that died, since "+
		"then: 24h ago, or a time such as 2026-11-21T02:00:00Z")
	cmd.Flags().StringVar(&s.why, "error", "", "with --dead: only effects whose last error contains this `TEXT`")
	cmd.Flags().StringVar(&s.receiver, "receiver", "", "only dead effects that this `HOST` gets, and with --now those "+
		"that back off, too; one first, and the rest only while it accepts them")
	cmd.Flags().BoolVar(&s.now, "now", false, "end the back-off of an open effect: try it at once")
	cmd.Flags().StringVar(&s.without, "without", "", "plan this `EFFECT` for the operations that ended without it, while "+
		"it was left out")
	terminal.Selectors(cmd, "effect", "since", "error", "receiver", "without")
}

// mayMiss reports whether effects that wait for a serve may be among what is meant: of a receiver, or of all dead ones
// before they were reopened.
func (s *replaySelection) mayMiss() bool {
	ofRecords := s.filter.Narrows() || s.name.Key != ""
	return s.receiver != "" || s.dead && !ofRecords && s.since == "" && s.why == "" && s.effect == ""
}

// parse reads the arguments and flags. The error joins every problem.
func (s *replaySelection) parse(args []string, now time.Time) error {
	var p diag.Problems
	ofRecords := s.filter.Narrows()
	filtered := ofRecords || s.since != "" || s.why != "" || s.receiver != "" || s.without != ""
	switch {
	case len(args) == 1 && filtered:
		p = append(p, errors.New("name an operation, or select several with "+
			"--state, --collection, --job-kind, --since, --error, --receiver or --without: not both"))
	case len(args) == 1:
		var err error
		s.name, err = open.ParseOperationName(args[0])
		p = append(p, err)
	case !filtered && !s.dead:
		p = append(p, errors.New("name an operation, or select several with "+
			"--dead, --receiver, --without, --state, --collection, --job-kind or --since"))
	case s.without != "" && (s.dead || s.rerun || s.receiver != "" || s.effect != "" || s.now):
		p = append(p, errors.New("--without: it names an effect that was never planned; leave out "+
			"--effect, --dead, --receiver, --rerun and --now"))
	case s.receiver != "" && (ofRecords || s.rerun):
		p = append(p, errors.New("--receiver: it chooses effects and not operations; leave out "+
			"--state, --collection, --job-kind and --rerun"))
	}
	p.When(s.now && s.rerun, "--now: a rerun has no back-off; leave out --rerun")
	p.When(s.why != "" && !s.dead && s.receiver == "",
		"--error: only a dead effect has one to select by; add --dead")
	s.filter.Dead, s.filter.Limit = s.dead, 500
	p = append(p, s.filter.Parse())
	if s.since != "" {
		var err error
		s.after, err = terminal.ParsePast(s.since, now)
		p.Of("--since", err)
	}
	p.When(s.rerun && job.IsStep(s.effect), "--effect: %s: %w, without --rerun", s.effect, ledger.ErrStep)
	p.When(s.rerun && strings.Contains(s.effect, "@"),
		"--effect: %q is itself one run; with --rerun name the effect %q", s.effect, ledger.RuleOf(s.effect))
	return errors.Join(p...)
}

// A replayTarget is one effect to run again.
type replayTarget struct {
	Operation operation.Key          `json:"operation"`
	Effect    string                 `json:"effect"`
	Status    operation.EffectStatus `json:"status"` // before it; after it, where that is known
	// ClaimableAt is when it is tried next, where it backs off after its message.
	ClaimableAt time.Time `json:"claimableAt,omitzero"`
	runs        *int      // how many reruns it had when it was selected; nil without --rerun
	// ran: it has seen the message. Of one that is run in this process: an attempt was made.
	ran bool
	// Of one that is run in this process: it has no handler here, or a newer revision wrote it.
	unknown, newer bool
	failed         bool // it has seen the message, failed, and backs off again
	looks          int  // that found no document of it
	untried        bool // the replay stopped before it
}

// unplanned is the status of an effect that no rule planned when the operation reached its state.
const unplanned operation.EffectStatus = "never planned"

// A replayFound is what a selection finds.
type replayFound struct {
	targets []replayTarget  // of the newest operations first
	none    string          // why there are no targets
	waiting ledger.Total    // open effects that no process runs, where there are no targets
	broken  []ledger.Broken // documents that cannot be read
	// unplaced counts open effects that no process runs, and that may be of the receiver that was asked for.
	unplaced int
}

// find returns the selected effects. hosts are the receivers that the settings name, by effect.
func (s replaySelection) find(
	ctx context.Context, l *ledger.Ledger, hosts map[string]string,
) (found replayFound, err error) {
	if s.receiver != "" {
		return s.findReceiver(ctx, l, hosts)
	}
	if s.without != "" {
		return s.findWithout(ctx, l)
	}
	if s.name.Key != "" {
		found.targets, found.none, err = s.findNamed(ctx, l)
		return found, err
	}
	found.none = s.noneOfSeveral()
	defer func() {
		if err == nil && len(found.targets) == 0 && s.serve.Down() {
			found.waiting, err = l.Effects.CountOpen(ctx)
		}
	}()
	err = open.EachPage(ctx, l, s.filter.Filter, func(page ledger.Page[operation.Record]) error {
		targets, unreadable, err := s.ofPage(ctx, l, page.Items)
		found.targets = append(found.targets, targets...)
		found.broken = append(append(found.broken, page.Broken...), unreadable...)
		return err
	})
	return found, err
}

// ofPage returns the selected effects of operations. When a dead effect died, and why, only its own
// document says, which is read where it decides.
func (s replaySelection) ofPage(
	ctx context.Context, l *ledger.Ledger, records []operation.Record,
) (targets []replayTarget, broken []ledger.Broken, err error) {
	byEffect := s.dead && (!s.after.IsZero() || s.why != "")
	settled := map[operation.Key]time.Time{}
	for _, rec := range records {
		if settled[rec.Key] = rec.SettledAt; byEffect || s.after.IsZero() || rec.SettledAt.After(s.after) {
			targets = append(targets, s.targets(rec)...)
		}
	}
	if !byEffect {
		return targets, nil, nil
	}
	effects, broken, err := l.Effects.Dead(ctx, records)
	chosen := map[replayTarget]bool{}
	for _, e := range effects {
		if s.chooses(e, settled[e.Operation]) {
			chosen[replayTarget{Operation: e.Operation, Effect: e.Name, Status: e.Status()}] = true
		}
	}
	return slices.DeleteFunc(targets, func(t replayTarget) bool {
		t.runs = nil
		return !chosen[t]
	}), broken, err
}

// chooses reports whether a dead effect died late enough, of the error that was asked for. Of one
// that died under an earlier version, which recorded no time of it, the time its operation ended
// counts.
func (s replaySelection) chooses(e ledger.Effect, settled time.Time) bool {
	died := e.DiedAt
	if died.IsZero() {
		died = settled
	}
	return (s.after.IsZero() || died.After(s.after)) && strings.Contains(e.LastError, s.why)
}

// findNamed is find for the one operation that was named.
func (s replaySelection) findNamed(ctx context.Context, l *ledger.Ledger) ([]replayTarget, string, error) {
	key, err := s.name.KeyIn(ctx, l)
	if err != nil {
		return nil, "", err
	}
	rec, err := recordOrAlerts(ctx, l, key)
	if err != nil {
		return nil, "", err
	}
	_, planned := rec.Effects[s.effect]
	switch {
	case s.effect == "" || planned || s.dead:
		return s.targets(rec), cmp.Or(s.leftOutOf(ctx, l, rec), s.noneOf(rec)), nil
	case s.rerun || strings.Contains(s.effect, "@"):
		return nil, "", noEffect(rec, s.effect, "", s.store)
	case !rec.Registered:
		return nil, "", fmt.Errorf("%s: %w", rec.Key, ledger.ErrUnregistered)
	case !rec.Settled():
		return nil, "", fmt.Errorf("%s is %s; its effects are planned when it ends", rec.Key, rec.State)
	}
	return []replayTarget{{Operation: rec.Key, Effect: s.effect, Status: unplanned}}, "", nil
}

// targets returns the selected effects of one operation: those that are open or dead, those that
// are waived or withheld if they were named, and with --rerun those that are done. A rerun is not
// itself rerun, nor is a step of a job.
func (s replaySelection) targets(rec operation.Record) []replayTarget {
	var targets []replayTarget
	for _, name := range slices.Sorted(maps.Keys(rec.Effects)) {
		status := rec.Effects[name]
		named := name == s.effect || ledger.RuleOf(name) == s.effect
		switch {
		case s.effect != "" && !named, s.dead && status != operation.EffectDead:
		case s.rerun && (ledger.RuleOf(name) != name || job.IsStep(name)):
		case status == operation.EffectWithheld && name != s.effect:
		case !s.rerun && (status == operation.EffectDone || status == operation.EffectWaived && name != s.effect):
		default:
			target := replayTarget{Operation: rec.Key, Effect: name, Status: status}
			if s.rerun {
				runs := ledger.Reruns(rec, name)
				target.runs = &runs
			}
			targets = append(targets, target)
		}
	}
	return targets
}
