package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Payload is what an effect is told of the completion, frozen when the effect is planned.
type Payload struct {
	Operation      operation.Key      `json:"operation"`
	State          operation.State    `json:"state"`
	JobKind        string             `json:"jobKind,omitempty"`
	Result         operation.Result   `json:"result"`
	Metadata       operation.Metadata `json:"metadata"`
	IdempotencyKey string             `json:"idempotencyKey"`
	// Alert is what an alert says; an ordinary effect has none.
	Alert *Notice `json:"alert,omitempty"`
}

// WithheldMessage is what a log says where effects were withheld [L3].
const WithheldMessage = "effects were withheld: the operation ended longer ago than the retention " +
	"when the ledger first heard of it; a replay runs one"

// A plan is the effects that one commit adds to an operation.
type plan struct {
	record   operation.Record // with the effects named
	writes   []Write
	messages []Message
	withheld int // how many effects are not planned, because the end is too long ago
}

// plan makes effects for the state that rec is in now, where a rule asks for one and the record does not name it yet
// [S2, S3]. Nothing is planned for an operation that nobody registered [W5]. What outlived its retention is withheld [L3].
// bound is the intent that the commit binds to the operation; the zero Intent where there is none.
//
// existing are the effect documents that are known to be there, by name: an expired record may leave them behind, and an
// effect that is there is never planned anew.
func (l *Ledger) plan(
	ctx context.Context, rec operation.Record, existing map[string]Effect, bound Intent, now time.Time,
) (plan, error) {
	p := plan{record: rec}
	var names []string
	for _, rule := range l.settings.Rules {
		if _, named := rec.Effects[rule.Name]; rec.Registered && !named && rule.matches(rec) {
			names = append(names, rule.Name)
		}
	}
	late := len(names) > 0 && l.late(rec, bound)
	if late { // no commit meets what is there already: to be told from what never ran, it must be read
		var err error
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

// late reports whether the operation's end was already past the retention when the ledger first
// heard of it: most likely its record has expired, and its effects ran [L3]. Without a server's
// time of the end, the time of its submission counts.
//
// An intent that was recorded or renewed before the end shows that nothing has expired: until now
// it waited for the operation. One that was made later may be an old id that is used again.
func (l *Ledger) late(rec operation.Record, bound Intent) bool {
	end := rec.UpdateTime
	if end.Unix() <= 0 { // a missing time may also come as the epoch [M4]
		end = rec.SubmittedAt
	}
	if !rec.Settled() || rec.CreatedAt.Sub(end) <= l.settings.Retention {
		return false
	}
	return !bound.Waiting() || bound.AttemptedAt().After(end)
}

// add plans the effect called name for the plan's record as it is.
func (p *plan) add(l *Ledger, name string, notice *Notice, now time.Time) error {
	effect, err := newEffect(p.record, name, notice, now)
	if err != nil {
		return err
	}
	p.record = p.record.WithEffect(name, operation.EffectOpen)
	p.writes = append(p.writes, l.writeEffect(Document{Path: EffectPath(p.record.Key, name)}, effect))
	p.messages = append(p.messages, Message{Operation: p.record.Key, Effect: name, Attempt: 1})
	return nil
}

func newEffect(rec operation.Record, name string, notice *Notice, now time.Time) (Effect, error) {
	key := operation.IdempotencyKey(rec.Key, name)
	payload, err := json.Marshal(Payload{
		Operation: rec.Key, State: rec.State, JobKind: rec.JobKind,
		Result: rec.Result, Metadata: rec.Metadata, IdempotencyKey: key, Alert: notice,
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

// effectPaths returns where every effect that a rule could plan would be.
func (l *Ledger) effectPaths(key operation.Key) []Path {
	paths := make([]Path, len(l.settings.Rules))
	for i, rule := range l.settings.Rules {
		paths[i] = EffectPath(key, rule.Name)
	}
	return paths
}

// readEffects decodes the effects among documents that exist, by name.
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
