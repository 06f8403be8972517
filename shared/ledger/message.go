package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/operation"
)

// A Message tells a worker that an effect may be run. It is only a hint: whether it runs rests on the effect's document
// [S8], so a message may be lost, repeated or late.
type Message struct {
	Operation operation.Key `json:"operation"`
	Effect    string        `json:"effect"`
	// Attempt is the claim that the message was sent for. A message without it comes from a person.
	Attempt int `json:"attempt,omitempty"`
}

// ErrMessage is wrapped by every error about the form of a message; the same message will never be understood.
var ErrMessage = errors.New("malformed effect message")

// ParseMessage reads a message: {"operation", "effect"}, the operation's name in any form [K1].
func ParseMessage(data []byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%w: %w; it must be {\"operation\":NAME,\"effect\":NAME}", ErrMessage, err)
	}
	name, err := operation.ParseName(string(m.Operation), "")
	if err != nil {
		return m, fmt.Errorf("%w: operation: %w", ErrMessage, err)
	}
	if name.Key.Collection() == "" && !strings.Contains(name.Resource, "/") {
		return m, fmt.Errorf("%w: operation: %q does not say what it is; write batches/%[2]s or the like", ErrMessage, name.Resource)
	}
	if m.Effect == "" {
		return m, fmt.Errorf("%w: it names no effect", ErrMessage)
	}
	m.Operation = name.Key
	return m, nil
}

// A Publisher hands messages to the workers. Publish returns when the message is safely handed over.
type Publisher interface {
	Publish(ctx context.Context, m Message) error
}

// publishTimeout bounds how long a caller waits for its messages to be handed over: a sender of webhooks wants its answer
// within seconds, and what is not published in time the sweep publishes.
const publishTimeout = 2500 * time.Millisecond

// send publishes messages. An error loses nothing: the effects' documents are the outbox.
func (l *Ledger) send(ctx context.Context, messages []Message) error {
	if l.publish == nil || len(messages) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	var group errgroup.Group
	for _, m := range messages {
		group.Go(func() error {
			if err := l.publish.Publish(ctx, m); err != nil {
				return fmt.Errorf("publishing effect %s of %s: %w", m.Effect, m.Operation, err)
			}
			return nil
		})
	}
	return group.Wait()
}
