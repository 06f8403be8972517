package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/opledger/opledger/shared/operation"
)

// A Found is an operation that Gemini listed, with the correlation id in its user metadata, if it
// has one.
type Found struct {
	Name          operation.Name
	CorrelationID string
}

// A Standing is what the ledger knows of an operation, in words that logs count.
type Standing string

// The standings.
const (
	StandingNone         Standing = "none"         // it has no record
	StandingUnregistered Standing = "unregistered" // only deliveries named it [W5]
	StandingRegistered   Standing = "registered"
)

// A Finding is what the ledger knows of an operation that was found.
type Finding struct {
	Found
	Standing Standing
	// Waiting: an intent waits under its correlation id [G6]. An event with the id binds an
	// unregistered operation; Register with the id binds any.
	Waiting bool
	// Elsewhere is the other operation that its correlation id is bound to, if any: the same job
	// under another name, or one of two submissions [K6].
	Elsewhere operation.Key
	// Err is why the rest is not known; it concerns no other finding [R6].
	Err error
}

// discoverAtOnce is how many operations are read at once.
const discoverAtOnce = 100

// Discover returns what the ledger knows of operations that Gemini listed, in their order, with one
// read for each hundred. It writes nothing: the caller ingests an event or registers [M7]. The
// error is the store's, and then no finding is returned.
func (l Operations) Discover(ctx context.Context, found []Found) ([]Finding, error) {
	findings := make([]Finding, 0, len(found))
	for some := range slices.Chunk(found, discoverAtOnce) {
		var paths []Path
		for _, f := range some {
			paths = append(paths, OperationPath(f.Name.Key), intentPath(f.CorrelationID))
		}
		snapshot, err := l.store.Get(ctx, paths...)
		if err != nil {
			return nil, fmt.Errorf("finding operations that Gemini listed (%d): %w", len(some), err)
		}
		for i, f := range some {
			findings = append(findings, l.finding(f, snapshot.Documents[2*i], snapshot.Documents[2*i+1]))
		}
	}
	return findings, nil
}

func (l *protocol) finding(found Found, recordDoc, intentDoc Document) Finding {
	f := Finding{Found: found, Standing: StandingNone}
	rec, err := l.readRecord(recordDoc)
	intent, intentErr := readIntent(intentDoc)
	if f.Err = errors.Join(err, intentErr); f.Err != nil {
		return f
	}
	switch {
	case rec.Registered:
		f.Standing = StandingRegistered
	case recordDoc.Exists():
		f.Standing = StandingUnregistered
	}
	f.Waiting = intent.Waiting()
	if intent.State == IntentBound && intent.Operation != found.Name.Key {
		f.Elsewhere = intent.Operation
	}
	return f
}
