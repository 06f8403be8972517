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

// maxRuns bounds the reruns of one effect: a claim reads them all.
const maxRuns = 100

// rerun plans one more run of the effect in firstDoc. The same commit writes the first run's document,
// which counts the reruns. So the number of runs that the operator saw is still true in this commit, and a
// concurrent claim of the first run decides again.
func (r *replaying) rerun(
	ctx context.Context, firstDoc, recordDoc Document, rec operation.Record, now time.Time,
) error {
	l := r.ledger
	first, err := readEffect(firstDoc)
	status, named := rec.Effects[r.name]
	switch {
	case err != nil:
		return err
	case named:
		return fmt.Errorf(
			"%w: the document of that run is gone; the operation's record says that it is %s", ErrReplay, status,
		)
	case !firstDoc.Exists():
		return fmt.Errorf("%w as a rerun: it has no first run, and so no payload; replay it without a rerun",
			ErrReplay)
	case r.message.Runs != nil && first.Runs != *r.message.Runs:
		return fmt.Errorf("%w as a rerun: it had %d reruns at the decision, and has %d now", ErrReplay, *r.message.Runs,
			first.Runs)
	case first.Runs >= maxRuns:
		return fmt.Errorf("%w as a rerun: it has %d reruns already", ErrReplay, first.Runs)
	}
	key := operation.IdempotencyKey(first.Operation, r.name)
	payload, err := withKey(first.Payload, key)
	if err != nil {
		return fmt.Errorf("%w as a rerun: the payload of the first run: %w", ErrReplay, err)
	}
	run := Effect{
		Operation: first.Operation, Name: r.name, Rerun: r.message.Rerun, State: EffectPending,
		IdempotencyKey: key, Payload: payload, CreatedAt: now, ClaimableAt: now, DueAt: now,
	}
	r.remember(&run, now)
	first.Runs++
	if !first.ExpireAt.IsZero() { // it is kept as long as its reruns
		first.ExpireAt = now.Add(2 * l.settings.Retention)
	}
	r.outcome = PlannedRerun
	path := EffectPath(first.Operation, r.name)
	return l.commitStatus(ctx, Document{Path: path}, recordDoc, run, now, []Write{l.writeEffect(firstDoc, first)})
}

// Reruns returns how many reruns of an effect a record names, for Message.Runs.
func Reruns(rec operation.Record, effect string) int {
	n := 0
	for name := range rec.Effects {
		if run, is := strings.CutPrefix(name, effect+runMark); is && !isAlertRun(run) {
			n++
		}
	}
	return n
}

// withKey returns a payload with another idempotency key, and otherwise unchanged.
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

// siblings are the sibling runs of an effect, as far as its claim needs them.
type siblings struct {
	claimed bool          // a sibling is CLAIMED
	wait    time.Duration // how long until its lease expires
	// recordWrites belong in the claim's commit: the record, if there are siblings.
	recordWrites []Write
}

// siblingRuns reads the sibling runs of an effect, which its operation's record names: its first run
// and its reruns. At most one of them is CLAIMED. A run whose lease has expired still counts until it is
// claimed again and ended, because its worker may extend the lease. The claim's commit writes the record,
// so that of two concurrent claims of siblings one decides again. An effect without siblings costs no
// read.
func (l *protocol) siblingRuns(
	ctx context.Context, recordDoc Document, rec operation.Record, effect Effect, now time.Time,
) (siblings, error) {
	if !effect.oneOfSeveral() || !recordDoc.Exists() { // it has expired, so no sibling was open or dead
		return siblings{}, nil
	}
	var names []string
	for name := range rec.Effects {
		if name != effect.Name && RuleOf(name) == RuleOf(effect.Name) {
			names = append(names, name)
		}
	}
	others, err := l.effects(ctx, effect.Operation, names)
	if err != nil {
		return siblings{}, err
	}
	for _, other := range others {
		if other.oneOfSeveral() && other.State == EffectClaimed {
			return siblings{claimed: true, wait: max(other.ClaimableAt.Sub(now), 0)}, nil
		}
	}
	_, write := l.writeRecord(recordDoc, rec, now)
	return siblings{recordWrites: []Write{write}}, nil
}

// oneOfSeveral reports whether the effect has siblings.
func (e Effect) oneOfSeveral() bool { return e.Rerun != "" || e.Runs > 0 }
