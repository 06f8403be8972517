package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// maxRuns bounds the runs of one effect that people ask for: a claim reads them all.
const maxRuns = 100

// anew plans a run of its own of the effect that firstDoc is. The first run's document is written in the same commit: it says
// from then on that it is not the only one, and whoever is about to claim it decides again.
func (r *replaying) anew(ctx context.Context, firstDoc, recordDoc Document, rec operation.Record, now time.Time) error {
	l := r.ledger
	first, err := readEffect(firstDoc)
	status, named := rec.Effects[r.name]
	switch {
	case err != nil:
		return err
	case named:
		return fmt.Errorf("%w: the document of that run is gone; the operation's record says that it is %s", ErrReplay, status)
	case !firstDoc.Exists():
		return fmt.Errorf("%w anew: there is no first run of it whose payload could be sent again; replay it without anew", ErrReplay)
	case first.Runs >= maxRuns:
		return fmt.Errorf("%w anew: it has %d runs already", ErrReplay, first.Runs)
	}
	key := operation.IdempotencyKey(first.Operation, r.name)
	payload, err := withKey(first.Payload, key)
	if err != nil {
		return fmt.Errorf("%w anew: the payload of the first run: %w", ErrReplay, err)
	}
	run := Effect{
		Operation: first.Operation, Name: r.name, Rerun: r.message.Rerun, State: EffectPending,
		IdempotencyKey: key, Payload: payload, CreatedAt: now, ClaimableAt: now, DueAt: now,
	}
	r.remember(&run, now)
	first.Runs++
	if !first.ExpireAt.IsZero() { // it stays beside its runs
		first.ExpireAt = now.Add(2 * l.settings.Retention)
	}
	r.outcome = PlannedRerun
	path := EffectPath(first.Operation, r.name)
	return l.commitEnd(ctx, Document{Path: path}, recordDoc, run, now, []Write{l.writeEffect(firstDoc, first)})
}

// withKey returns a payload with another idempotency key, and every other byte as it is.
func withKey(payload, key string) (string, error) {
	decoder := json.NewDecoder(strings.NewReader(payload))
	if _, err := decoder.Token(); err != nil {
		return "", fmt.Errorf("reading it: %w", err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return "", fmt.Errorf("reading it: %w", err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return "", fmt.Errorf("reading its %v: %w", name, err)
		}
		if name != "idempotencyKey" {
			continue
		}
		quoted, err := json.Marshal(key)
		if err != nil {
			return "", fmt.Errorf("encoding the key: %w", err)
		}
		end := int(decoder.InputOffset())
		return payload[:end-len(value)] + string(quoted) + payload[end:], nil
	}
	return "", errors.New("it has no idempotencyKey")
}

// A company is what a claim meets that is of one of several runs.
type company struct {
	claimed bool          // another run is
	until   time.Duration // when its lease ends, from now
	writes  []Write       // to go into the claim's commit
}

// company looks at the other runs of an effect that people asked to run anew: of them all one is claimed at a time. A run whose
// worker died still counts, until it is seized and ended: that worker may yet wake up and extend its lease. The claim writes the
// operation's record, so that of two runs' claims at once one decides again. An effect that has no other run costs nothing.
func (l *Ledger) company(ctx context.Context, effect Effect, now time.Time) (company, error) {
	if !effect.oneOfSeveral() {
		return company{}, nil
	}
	snapshot, err := l.store.Get(ctx, OperationPath(effect.Operation))
	if err != nil {
		return company{}, err
	}
	recordDoc := snapshot.Documents[0]
	rec, err := readRecord(recordDoc)
	if err != nil || !recordDoc.Exists() { // it expired, because nothing was open or dead any more: there is nobody to wait for
		return company{}, err
	}
	var names []string
	for name := range rec.Effects {
		if name != effect.Name && RuleOf(name) == RuleOf(effect.Name) {
			names = append(names, name)
		}
	}
	others, err := l.effects(ctx, effect.Operation, names)
	if err != nil {
		return company{}, err
	}
	for _, other := range others {
		if other.oneOfSeveral() && other.State == EffectClaimed {
			return company{claimed: true, until: max(other.ClaimableAt.Sub(now), 0)}, nil
		}
	}
	_, write := l.writeRecord(recordDoc, rec, now)
	return company{writes: []Write{write}}, nil
}

// oneOfSeveral reports whether the effect has, or is, a run that a person asked for.
func (e Effect) oneOfSeveral() bool { return e.Rerun != "" || e.Runs > 0 }
