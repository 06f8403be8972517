package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// A Message tells a worker that an effect may be run. The effect's document decides whether it is
// [S8], so a message may be lost, repeated or late.
type Message struct {
	Operation operation.Key `json:"operation"`
	Effect    string        `json:"effect"`
	// Attempt is the number of the claim that the message was sent for. A message without it comes
	// from an operator and goes through Replay.
	Attempt int `json:"attempt,omitempty"`
	// Rerun requests a run of its own, even of a DONE effect; the same text again is the same run.
	Rerun string `json:"rerun,omitempty"`
	// Runs, with Rerun, is how many reruns the effect had when the operator saw it. Where it has
	// another number by now, none is planned, so that of several operators who saw the same page one
	// reruns it; nil: any number.
	Runs *int `json:"runs,omitempty"`
	// Now ends the back-off of an effect that failed: it may be claimed at once. Its failures stay counted.
	Now bool `json:"now,omitempty"`
	// By is who sent an operator's message, in their own words.
	By string `json:"by,omitempty"`
	// ID is the queue's id of the message, the same in every delivery; empty where it has none. It
	// is not sent.
	ID string `json:"-"`
}

// FromOperator reports whether the message is an operator's, not one of the ledger's own.
func (m Message) FromOperator() bool { return m.Attempt < 1 }

// ErrMessage is wrapped by every error about the form of a message. No retry of the same message
// helps.
var ErrMessage = errors.New("malformed effect message")

// nonce is what may follow the '@' in a run's name: it becomes part of keys and document ids.
var nonce = diag.Pattern(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxNonce = 64 // bytes

// Validate returns ErrMessage, with the reason, where the message names no effect, or its Rerun
// cannot name a run.
func (m Message) Validate() error {
	switch {
	case m.Effect == "":
		return fmt.Errorf("%w: it names no effect", ErrMessage)
	case m.Rerun == "":
		return nil
	case CheckNonce(m.Rerun) != nil:
		return fmt.Errorf("%w: \"rerun\": %w", ErrMessage, CheckNonce(m.Rerun))
	case !m.FromOperator():
		return fmt.Errorf("%w: \"rerun\" is for an operator's message, which has no attempt", ErrMessage)
	case RuleOf(m.Effect) != m.Effect:
		return fmt.Errorf("%w: \"rerun\": %q is itself one run; name the effect %q",
			ErrMessage, m.Effect, RuleOf(m.Effect))
	}
	return nil
}

// CheckNonce returns nil where a text can name a rerun.
func CheckNonce(text string) error {
	if nonce().MatchString(text) && len(text) <= maxNonce && !isAlertRun(text) {
		return nil
	}
	return fmt.Errorf("%.80q must be up to 64 letters, digits, '.', '_' and '-', beginning with a letter or digit, and "+
		"not the name of an alert such as stuck-1", text)
}

// ParseMessage reads a message: {"operation", "effect"}, the operation's name in any form [K1]. An
// operator's may also have "rerun", "now" and "by". Unknown fields are ignored, because a later revision
// may send them.
func ParseMessage(data []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%w: %w; it must be {\"operation\":NAME,\"effect\":NAME}, perhaps with \"rerun\":TEXT",
			ErrMessage, err)
	}
	name, err := operation.ParseName(string(m.Operation), "")
	if err != nil {
		return m, fmt.Errorf("%w: operation: %w", ErrMessage, err)
	}
	if name.Key.Collection() == "" && !strings.Contains(name.Resource, "/") {
		return m, fmt.Errorf("%w: operation: %q has no collection; write batches/%[2]s, operations/%[2]s or "+
			"interactions/%[2]s", ErrMessage, name.Resource)
	}
	m.Operation = name.Key
	return m, m.Validate()
}

// ErrQueueFull: the workers have as many messages as their queue holds. It is no failure: the effect is
// left to a later sweep [R5].
var ErrQueueFull = errors.New("the queue of effects is full")

// A Publisher sends messages to the workers. Publish returns when the message is durable, or ErrQueueFull.
type Publisher interface {
	Publish(ctx context.Context, m Message) error
}

// publishTimeout bounds how long a caller waits until its messages are published: a webhook's
// sender wants its answer within seconds. The sweep publishes what was not published in time.
const publishTimeout = 2500 * time.Millisecond

// send publishes messages. An error loses nothing: the effects' documents are the outbox. That the queue is full is
// no error: the effects are due, and the sweep publishes them [R5].
func (l *protocol) send(ctx context.Context, messages []Message) error {
	if len(messages) == 0 {
		return nil
	}
	var group errgroup.Group
	for _, m := range messages {
		group.Go(func() error {
			if err := l.sendOne(ctx, m); !errors.Is(err, ErrQueueFull) {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

// sendOne publishes a message, or returns ErrQueueFull or why not.
func (l *protocol) sendOne(ctx context.Context, m Message) error {
	if l.publish == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if err := l.publish.Publish(ctx, m); err != nil {
		return fmt.Errorf("publishing effect %s of %s: %w", m.Effect, m.Operation, err)
	}
	return nil
}
