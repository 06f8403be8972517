package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// A Payload describes the completion to an effect, frozen when the effect is planned.
type Payload struct {
	Operation      operation.Key      `json:"operation"`
	State          operation.State    `json:"state"`
	JobKind        string             `json:"jobKind,omitempty"`
	Result         operation.Reported `json:"result"`
	Metadata       operation.Metadata `json:"metadata"`
	IdempotencyKey string             `json:"idempotencyKey"`
	// TraceParent is the trace in which the operation was submitted.
	TraceParent operation.TraceParent `json:"traceParent,omitempty"`
	// Alert is set for an alert only, and Job for a job.
	Alert *Notice    `json:"alert,omitempty"`
	Job   *JobReport `json:"job,omitempty"`
}

// WithheldMessage is the log message where effects were withheld [L3].
const WithheldMessage = "effects were withheld: the operation ended longer ago than the retention " +
	"when the ledger first received it; a replay runs one"

// A plan holds the effects that one commit adds to an operation.
type plan struct {
	record   operation.Record // which names the effects
	job      *JobReport       // where the record is a job's
	writes   []Write
	messages []Message
	withheld int // how many effects are not planned because the end is too long ago
}

// plan plans the effects of rec's state that a rule lists and the record does not name yet [S2,
// S3]. It plans nothing for an unregistered operation [W5]. The effects of an operation that
// outlived its retention are withheld [L3]. before is the record before the commit, and bound the
// intent that the commit binds to the operation, or the zero Intent.
//
// existing are the known effect documents, by name. A record that has expired may leave some
// behind; an existing effect is never planned again.
func (l *protocol) plan(
	ctx context.Context, before, rec operation.Record, existing map[string]Effect, bound Intent, now time.Time,
) (plan, error) {
	notAfter(now, &rec.CreatedAt) // the clock was wrong then, and the age of the completion is counted from it
	p := plan{record: rec}
	var names []string
	for _, rule := range l.rulesOf(rec) {
		if _, named := rec.Effects[rule.Name]; rec.Registered && !named && rule.Matches(rec) {
			names = append(names, rule.Name)
		}
	}
	if len(names) == 0 {
		return p, nil
	}
	var err error
	if p.job, err = l.jobReport(ctx, rec); err != nil {
		return plan{}, err
	}
	late := !rec.IsPart() && l.late(before, rec, bound)
	if late { // no commit will conflict with existing effects, so they are read here
		if existing, err = l.effects(ctx, rec.Key, names); err != nil {
			return plan{}, err
		}
	}
	for _, name := range names {
		effect, there := existing[name]
		switch {
		case there:
			p.record = p.record.WithEffect(name, effect.Status())
		case late:
			p.record = p.record.WithEffect(name, operation.EffectWithheld)
			p.withheld++
		default:
			if err := p.add(l, name, nil, now); err != nil {
				return plan{}, err
			}
		}
	}
	return p, nil
}

// rulesOf returns the rules that plan the effects of an operation. The batch of a job's part has one of its
// own: its result is collected, and the job's effects run at the job's end [J8].
func (l *protocol) rulesOf(rec operation.Record) []Rule {
	if rec.IsPart() {
		return []Rule{{Name: job.StepCollect, On: terminal()}}
	}
	return l.settings.Rules
}

// terminal returns the states of operations that have ended.
func terminal() []operation.State {
	return slices.DeleteFunc(operation.States(), func(s operation.State) bool { return !s.Terminal() })
}

// late reports whether the operation had ended longer ago than the retention when the ledger first
// saw it. Then its record has most likely expired, and its effects have run [L3]. Without a
// server's time of completion, the time of submission counts.
//
// An operation that Gemini reported unfinished on the record before had not ended by then. An
// intent that was recorded or renewed before the completion proves that nothing has expired: it
// waited for the operation until now. An intent made later may be a reused id.
func (l *protocol) late(before, rec operation.Record, bound Intent) bool {
	past := func(end time.Time) bool { return rec.CreatedAt.Sub(end) > l.settings.Retention }
	end := rec.UpdateTime
	if operation.Missing(end) {
		end = rec.Submitted()
	}
	if !rec.Settled() || !past(end) {
		return false
	}
	// A report without a time is a look-up's answer, or a delivery's of the last day.
	if running := before.UpdateTime; before.ReportedUnfinished() && (operation.Missing(running) || !past(running)) {
		return false
	}
	return !bound.Waiting() || bound.AttemptedAt().After(end)
}

// add plans the effect called name, for the plan's record in its present state.
func (p *plan) add(l *protocol, name string, notice *Notice, now time.Time) error {
	effect, err := newEffect(p.record, name, notice, p.job, now)
	if err != nil {
		return err
	}
	p.record = p.record.WithEffect(name, operation.EffectOpen)
	p.writes = append(p.writes, l.writeEffect(Document{Path: EffectPath(p.record.Key, name)}, effect))
	p.messages = append(p.messages, Message{Operation: p.record.Key, Effect: name, Attempt: 1})
	return nil
}

func newEffect(
	rec operation.Record, name string, notice *Notice, report *JobReport, now time.Time,
) (Effect, error) {
	key := operation.IdempotencyKey(rec.Key, name)
	payload, err := json.Marshal(Payload{
		Operation: rec.Key, State: rec.State, JobKind: rec.JobKind,
		Result: operation.Reported(rec.Result), Metadata: rec.Metadata, IdempotencyKey: key, TraceParent: rec.TraceParent,
		Alert: notice, Job: report,
	})
	if err != nil {
		return Effect{}, fmt.Errorf("encoding the payload of effect %s: %w", name, err)
	}
	return Effect{
		Operation: rec.Key, Name: name, State: EffectPending,
		IdempotencyKey: key, Payload: string(payload),
		CreatedAt: now, ClaimableAt: now, DueAt: now,
	}, nil
}

// effectPaths returns the paths of every effect that a rule could plan.
func (l *protocol) effectPaths(key operation.Key) []Path {
	return pathsOf(key, append(RuleNames(l.settings.Rules), job.StepCollect))
}

// readEffects decodes those of the documents that exist, by effect name.
func readEffects(documents []Document) (map[string]Effect, error) {
	effects := map[string]Effect{}
	for _, d := range documents {
		if !d.Exists() {
			continue
		}
		effect, err := readEffect(d)
		if err != nil {
			return nil, err
		}
		effects[effect.Name] = effect
	}
	return effects, nil
}
