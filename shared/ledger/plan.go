package ledger

import (
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

// A plan is the effects that one commit adds to an operation.
type plan struct {
	record   operation.Record // with the effects named
	writes   []Write
	messages []Message
	withheld bool // no effect, because the end is too long ago
}

// plan makes effects for the state that rec is in now, where a rule asks for one and the record does not name it yet
// [S2, S3]. Nothing is planned for an operation that nobody registered [W5], nor for one whose end was already past the
// retention when the ledger first heard of it: it had its chance and expired [L3].
//
// existing are the effect documents that are known to be there, by name: an expired record may leave them behind, and an
// effect that is there is never planned anew.
func (l *Ledger) plan(rec operation.Record, existing map[string]Effect, now time.Time) (plan, error) {
	p := plan{record: rec}
	if !rec.Registered {
		return p, nil
	}
	// A missing time may also come as the epoch [M4].
	known := rec.UpdateTime.Unix() > 0
	if p.withheld = rec.Settled() && known && rec.CreatedAt.Sub(rec.UpdateTime) > l.settings.Retention; p.withheld {
		return p, nil
	}
	for _, rule := range l.settings.Rules {
		if _, named := rec.Effects[rule.Name]; named || !rule.matches(rec) {
			continue
		}
		if effect, there := existing[rule.Name]; there {
			p.record = p.record.WithEffect(rule.Name, effect.Status())
			continue
		}
		if err := p.add(l, rule.Name, nil, now); err != nil {
			return plan{}, err
		}
	}
	return p, nil
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
