package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// ErrReplay: there is nothing to replay, and no retry of the same message helps; the error says
// why.
var ErrReplay = errors.New("it cannot be replayed")

// A ReplayOutcome is what an operator's message changed, in words that logs count.
type ReplayOutcome string

// The outcomes of a replay. The zero one: nothing changed; the effect is done, or is retried
// anyway.
const (
	Reopened     ReplayOutcome = "reopened"      // it was DEAD
	PlannedLate  ReplayOutcome = "planned"       // it was never planned, and a rule lists it
	PlannedRerun ReplayOutcome = "planned-rerun" // as a run of its own
	Repeated     ReplayOutcome = "repeated"      // the message was seen before
	Hastened     ReplayOutcome = "hastened"      // its back-off ended with the message
)

// Replayed reports what Replay did.
type Replayed struct {
	Effect  string // the effect to claim now: the one that the message names, or its rerun
	Outcome ReplayOutcome
}

// maxReplays is how many messages an effect remembers; older ones are no longer redelivered.
const maxReplays = 100

// maxReplayError bounds the error that each of them keeps, in bytes.
const maxReplayError = 300

// Replay applies an operator's message about an effect, before the effect is claimed as for any
// message [G5]. A DEAD effect is reopened, also if it was waived: it is PENDING and claimable at
// once, its attempts start again, its fence continues [S6], and its last error moves to the replay.
// The FAILED items of an effect that runs once per item return to waiting, under their own keys. An
// effect that was never planned is planned, where a rule lists it for the state of the operation,
// and the operation is registered and settled. A DONE effect stays DONE [S2]. With Rerun the
// message plans one more run, with the payload of the first but a key and a claim of its own.
//
// With Now the back-off of a PENDING effect ends: it is claimable at once, and its failures stay counted [S4].
//
// Each effect sees a message once: a redelivery, known by its ID, changes nothing. A message
// without an ID cannot be told from its redelivery, and so reopens nothing.
//
// Errors: ErrReplay, with ErrStep for a rerun of a job's step; else as Ingest. Calling it again is safe.
func (l Effects) Replay(ctx context.Context, m Message) (Replayed, error) {
	r := replaying{ledger: l.protocol, message: m, name: m.Effect, writer: l.nonce()}
	if m.Rerun != "" {
		r.name = runOf(m.Effect, m.Rerun)
	}
	if err := m.Validate(); err != nil {
		return Replayed{}, fmt.Errorf("%w: %w", ErrReplay, err)
	}
	if m.Rerun != "" && job.IsStep(m.Effect) {
		return Replayed{}, fmt.Errorf("%w as a rerun: %w", ErrReplay, ErrStep)
	}
	what := fmt.Sprintf("replaying effect %s of %s", r.name, m.Operation)
	err := l.retry(ctx, what, func(int) error { return r.try(ctx) })
	if err != nil {
		return Replayed{}, err
	}
	return Replayed{Effect: r.name, Outcome: r.outcome}, nil
}

// A replaying is one call of Replay, over all its tries.
type replaying struct {
	ledger  *protocol
	message Message
	name    string // of the effect, or of its rerun
	writer  string
	// outcome is that of the last commit that was tried. Where its answer was lost, it is that of
	// the call.
	outcome ReplayOutcome
}

func (r *replaying) try(ctx context.Context) error {
	key := r.message.Operation
	effect, read, err := r.ledger.effect(
		ctx, EffectPath(key, r.name), OperationPath(key), EffectPath(key, r.message.Effect))
	if err != nil {
		return err
	}
	doc, recordDoc, now := read.Documents[0], read.Documents[1], read.ReadTime
	if !doc.Exists() {
		rec, err := r.ledger.readRecord(recordDoc)
		switch {
		case err != nil:
			return err
		case !recordDoc.Exists():
			return fmt.Errorf("%w: %w", ErrReplay, ErrNotFound)
		case r.message.Rerun != "":
			return r.rerun(ctx, read.Documents[2], recordDoc, rec, now)
		default:
			return r.late(ctx, doc, recordDoc, rec, now)
		}
	}
	for _, replay := range effect.Replays {
		switch {
		case replay.Writer == r.writer: // our own commit, whose answer was lost
			return nil
		case r.message.ID != "" && replay.Message == r.id():
			r.outcome = Repeated
			return nil
		}
	}
	r.outcome = ""
	if effect.State == EffectDone || r.message.ID == "" {
		return nil
	}
	replay := r.remember(&effect, now)
	if r.message.Now && effect.State == EffectPending && effect.ClaimableAt.After(now) {
		r.outcome = Hastened
		effect.claimableFrom(now)
	}
	if effect.State != EffectDead {
		return r.ledger.commit(ctx, r.ledger.writeEffect(doc, effect))
	}
	r.outcome = Reopened
	return r.reopen(ctx, doc, recordDoc, effect, replay, now)
}

// reopen makes a DEAD effect PENDING. replay is its record of the message.
func (r *replaying) reopen(
	ctx context.Context, doc, recordDoc Document, effect Effect, replay *Replay, now time.Time,
) error {
	if effect.Progress != nil {
		if effect.Abandoned != nil { // its FAILED items expire, and must not
			if err := r.ledger.keepFailed(ctx, effect.Operation, effect.Name, time.Time{}); err != nil {
				return err
			}
		}
		effect.Progress = effect.Progress.returned(effect.Fence)
	}
	effect.State, effect.Abandoned = EffectPending, nil
	effect.ExpireAt, effect.DiedAt = time.Time{}, time.Time{}
	effect.Owner, effect.Attempts, effect.Interrupted, effect.Failing = "", 0, 0, nil
	replay.LastError, effect.LastError = diag.Cut(effect.LastError, maxReplayError), ""
	effect.claimableFrom(now)
	return r.ledger.commitStatus(ctx, doc, recordDoc, effect, now, nil)
}

// late plans an effect that no rule listed when the operation reached its state.
func (r *replaying) late(ctx context.Context, doc, recordDoc Document, rec operation.Record, now time.Time) error {
	l := r.ledger
	rules := l.rulesOf(rec)
	i := slices.IndexFunc(rules, func(rule Rule) bool { return rule.Name == r.name })
	status, named := rec.Effects[r.name]
	switch {
	case named && status != operation.EffectWithheld:
		return fmt.Errorf("%w: its document is gone; the operation's record says that it is %s", ErrReplay, status)
	case i < 0:
		return fmt.Errorf(
			"%w: it was never planned, and no effect is named %.80q; the effects are %s",
			ErrReplay, r.name, strings.Join(RuleNames(rules), ", "),
		)
	case !rec.Registered:
		return fmt.Errorf("%w: %w", ErrReplay, ErrUnregistered)
	case !rec.Settled():
		return fmt.Errorf("%w: the operation is %s; its effects are planned when it ends", ErrReplay, rec.State)
	case !rules[i].Matches(rec):
		return fmt.Errorf(
			"%w: its rule does not match an operation that is %s, of job kind %q", ErrReplay, rec.State, rec.JobKind,
		)
	}
	report, err := r.ledger.jobReport(ctx, rec)
	if err != nil {
		return err
	}
	effect, err := newEffect(rec, r.name, nil, report, now)
	if err != nil {
		return err
	}
	r.outcome = PlannedLate
	r.remember(&effect, now)
	return l.commitStatus(ctx, doc, recordDoc, effect, now, nil)
}

// id is the message's ID as it is stored.
func (r *replaying) id() string { return printable(shorten(r.message.ID)) }

// remember adds the message to the effect's replays, and returns it.
func (r *replaying) remember(effect *Effect, now time.Time) *Replay {
	effect.Replays = append(effect.Replays[max(0, len(effect.Replays)-maxReplays+1):], Replay{
		Message: r.id(), By: printable(shorten(r.message.By)), At: operation.Instant(now), Writer: r.writer,
	})
	return &effect.Replays[len(effect.Replays)-1]
}
