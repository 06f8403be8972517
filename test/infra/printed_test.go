package infra_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A situation makes functions print lines, and lists the signals that count them.
type situation struct {
	name    string
	provoke func(w *world)
	want    []string // the signals that count a line of it; all others count none
}

// TestSignalsMatchWhatIsPrinted: the real functions print lines that each signal counts, and print
// them in no other situation. A filter compares for equality, so after a change of a word in the
// code it would never match again, and its alert would stay silent.
func TestSignalsMatchWhatIsPrinted(t *testing.T) {
	t.Parallel()
	signals := readTable[[]signal](t, "signals.json")
	seen := &tally{}
	t.Run("in", func(t *testing.T) { // ends when the parallel situations have
		for _, s := range slices.Concat(ofWebhook, ofProofs, ofRegister, ofReconcile, ofEffects, ofJobs, ofStarts()) {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				s.provoke(w)
				printed := w.printed()
				countedAlike(t, signals, printed)
				if got, want := counting(t, signals, printed, seen), slices.Sorted(slices.Values(s.want)); !slices.Equal(got,
					want) {
					t.Errorf("counted by %q, want by %q, in %v", got, want, printed)
				}
			})
		}
	})
	seen.check(t, signals)
}

// TestHealthyLifeFiresNoAlert: while everything succeeds, from the intent to the effect, no alert
// has a line to count, and the alert on absence has one.
func TestHealthyLifeFiresNoAlert(t *testing.T) {
	t.Parallel()
	signals := readTable[[]signal](t, "signals.json")
	w := newWorld(t)
	healthyLife(w)
	printed := w.printed()
	counted := counting(t, signals, printed, &tally{})
	want := []string{"arrivals", "deliveries", "effects", "ends", "passes", "registrations"}
	if !slices.Equal(counted, want) {
		t.Errorf("counted by %q, want by %q, in %v", counted, want, printed)
	}
	for _, s := range signals {
		if s.Alert != nil && slices.Contains(counted, s.Name) != (s.Alert.When == "absent") {
			t.Errorf("the alert %s would fire", s.Name)
		}
	}
}

// lines are the lines that functions have printed, by function.
type lines map[string][]map[string]any

// counting returns the names of the signals that count one of the lines, and adds to seen what each
// counted.
func counting(t *testing.T, signals []signal, printed lines, seen *tally) []string {
	t.Helper()
	names := map[string]bool{}
	for function, all := range printed {
		for _, line := range all {
			for _, s := range signals {
				if !slices.Contains(s.Functions, function) || !s.counts(t, line) {
					continue
				}
				names[s.Name] = true
				seen.add(s, function, line)
				if word, _ := line[s.Label].(string); s.Label != "" && word == "" {
					t.Errorf("%s has the label %s, which %v has not", s.Name, s.Label, line)
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// counts reports whether the signal's filter matches a line. Cloud Logging ignores case, so a word
// that differs in case alone is an error.
func (s signal) counts(t *testing.T, line map[string]any) bool {
	t.Helper()
	exact, folded := true, true
	for field, words := range s.Where {
		value := line[field]
		exact = exact && slices.Contains(words, value)
		folded = folded && slices.ContainsFunc(words, func(word any) bool {
			return strings.EqualFold(fmt.Sprint(word), fmt.Sprint(value))
		})
	}
	if exact != folded {
		t.Errorf("%s would count %v, whose words it spells otherwise", s.Name, line)
	}
	return exact
}

// A tally keeps what the signals have counted.
type tally struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (l *tally) add(s signal, function string, line map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	l.seen[s.Name+" "+function] = true
	for field := range s.Where {
		l.seen[fmt.Sprint(s.Name, " ", field, "=", line[field])] = true
	}
}

// check fails for each function and each word of a signal of which no line was seen.
func (l *tally) check(t *testing.T, signals []signal) {
	t.Helper()
	for _, s := range signals {
		for _, function := range s.Functions {
			if !l.seen[s.Name+" "+function] {
				t.Errorf("%s counts no line of %s", s.Name, function)
			}
		}
		for field, words := range s.Where {
			if slices.Contains([]string{"severity", "time"}, field) {
				t.Errorf("%s: Cloud Logging takes %s out of jsonPayload, where the filter looks", s.Name, field)
			}
			for _, word := range words {
				if !l.seen[fmt.Sprint(s.Name, " ", field, "=", word)] {
					t.Errorf("%s counts no line with %s=%v", s.Name, field, word)
				}
			}
		}
	}
}
