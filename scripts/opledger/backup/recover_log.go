package backup

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A lostEffect names an effect that the log shows as DONE.
type lostEffect struct {
	Operation operation.Key `json:"operation"`
	Effect    string        `json:"effect"`
}

// Evidence is what the log proves was in the ledger, without duplicates.
type evidence struct {
	intents    []logEntry
	operations []logEntry
	effects    []lostEffect
}

// A logEntry holds the fields of a line of the functions' log that recover reads.
type logEntry struct {
	Event       string        `json:"event"`
	Outcome     string        `json:"outcome"`
	Reason      string        `json:"reason"`
	Registered  bool          `json:"registered"`
	Operation   operation.Key `json:"operation"`
	Name        string        `json:"name"`
	JobKind     string        `json:"jobKind"`
	Correlation string        `json:"correlation"`
	Collection  string        `json:"collection"`
	Effect      string        `json:"effect"`
	Run         string        `json:"run"` // the run, of an effect that an operator's message named
	Time        time.Time     `json:"time"`
}

// submission is what the submitter said, as far as the log has it.
func (l logEntry) submission() operation.Submission {
	return operation.Submission{CorrelationID: l.Correlation, JobKind: l.JobKind}
}

// readEvidence reads a log: the lines that the functions print, one JSON object each, or the list
// of entries that `gcloud logging read --format=json` prints. It skips lines that are no JSON
// object.
func readEvidence(path string) (evidence, error) {
	file, err := os.Open(path)
	if err != nil {
		return evidence{}, fmt.Errorf("--log: %w", err)
	}
	defer file.Close() //nolint:errcheck // opened for reading
	var e evidence
	text := bufio.NewReader(file)
	if first, _ := text.Peek(1); string(first) == "[" {
		err = e.addList(text)
	} else {
		err = e.addLines(text)
	}
	if err == nil && len(e.intents)+len(e.operations)+len(e.effects) == 0 {
		err = errors.New("no line records an intent, registers an operation or finishes an effect; " +
			"the file must be the functions' log since the backup, as JSON")
	}
	if err != nil {
		return evidence{}, fmt.Errorf("--log: reading %s: %w", path, err)
	}
	e.once()
	return e, nil
}

// addList reads the output of gcloud.
func (e *evidence) addList(r io.Reader) error {
	decoder := json.NewDecoder(r)
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		var entry struct {
			Payload   logEntry  `json:"jsonPayload"`
			Timestamp time.Time `json:"timestamp"`
		}
		if err := decoder.Decode(&entry); err != nil {
			return err
		}
		entry.Payload.Time = entry.Timestamp
		e.add(entry.Payload)
	}
	return nil
}

// addLines reads the lines of the functions.
func (e *evidence) addLines(r *bufio.Reader) error {
	for {
		line, err := r.ReadBytes('\n')
		var entry logEntry
		if bytes.HasPrefix(line, []byte("{")) && json.Unmarshal(line, &entry) == nil {
			e.add(entry)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (e *evidence) add(l logEntry) {
	known := l.Outcome == "created" || l.Outcome == "known"
	switch {
	case l.Event == "intent" && known && l.Correlation != "":
		e.intents = append(e.intents, l)
	case l.Operation == "":
	case l.Event == "register" && known, l.Event == "discovery", l.Event == "ingest" && l.Registered:
		e.operations = append(e.operations, l)
	case l.Event == "effect" && (l.Outcome == "finished" || l.Outcome == "skipped" && l.Reason == "done"):
		effect := lostEffect{Operation: l.Operation, Effect: l.Effect}
		if l.Run != "" {
			effect.Effect = l.Run
		}
		e.effects = append(e.effects, effect)
	}
}

// once keeps one line for each intent, operation and effect: for an operation the one with the most
// facts.
func (e *evidence) once() {
	slices.SortStableFunc(e.operations, func(a, b logEntry) int { return facts(b) - facts(a) })
	e.operations = distinct(e.operations, func(l logEntry) string { return string(l.Operation) })
	e.intents = distinct(e.intents, func(l logEntry) string { return l.Correlation })
	e.effects = distinct(e.effects, func(l lostEffect) string { return string(l.Operation) + " " + l.Effect })
	slices.SortFunc(e.operations, func(a, b logEntry) int { return cmp.Compare(a.Operation, b.Operation) })
}

// facts counts the facts about an operation in a line.
func facts(l logEntry) (n int) {
	for _, fact := range []string{l.Name, l.JobKind, l.Correlation} {
		if fact != "" {
			n++
		}
	}
	return n
}

func distinct[T any](all []T, key func(T) string) (each []T) {
	seen := map[string]bool{}
	for _, one := range all {
		if !seen[key(one)] {
			seen[key(one)] = true
			each = append(each, one)
		}
	}
	return each
}
