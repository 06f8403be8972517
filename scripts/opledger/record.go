package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// recordOrAlerts returns the record of an operation. For a key without a record whose alerts are in
// the ledger, it makes a record of those.
func recordOrAlerts(ctx context.Context, l *ledger.Ledger, key operation.Key) (operation.Record, error) {
	rec, err := l.Record(ctx, key)
	if !errors.Is(err, ledger.ErrNotFound) {
		return rec, err
	}
	story, err := l.Show(ctx, key)
	rec.Key = key
	for _, effect := range story.Effects {
		rec = rec.WithEffect(effect.Name, effect.Status())
	}
	return rec, err
}

// stateWord is the state, with whether the operation is unregistered or abandoned.
func stateWord(r operation.Record) string {
	switch {
	case r.Version == 0:
		return "no record"
	case !r.Registered:
		return string(r.State) + " (unregistered)"
	case r.Abandoned != nil && !r.Settled():
		return string(r.State) + " (abandoned)"
	default:
		return string(r.State)
	}
}

// effectWords are the effects with their status, in the order of their names.
func effectWords(r operation.Record) string {
	words := make([]string, 0, len(r.Effects))
	for name, status := range r.Effects {
		words = append(words, name+" "+string(status))
	}
	slices.Sort(words)
	return safe(strings.Join(words, ", "))
}

// conditionWords say why the last look-ups were inconclusive, and since when.
func conditionWords(r operation.Record) string {
	var words []string
	if !r.MissingSince.IsZero() {
		words = append(words, "not found at Gemini since "+localTime(r.MissingSince))
	}
	if r.Condition != "" && (r.Condition != string(ledger.ConditionNotFound) || len(words) == 0) {
		words = append(words, safe(r.Condition)+" since "+localTime(r.ConditionSince))
	}
	return strings.Join(words, ", ")
}

func abandonedWords(a operation.Abandonment) string {
	return fmt.Sprintf("%s by %s: %s", localTime(a.At), safe(a.By), safe(a.Why))
}
