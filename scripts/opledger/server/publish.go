package server

import (
	"context"

	"github.com/opledger/opledger/shared/ledger"
)

// Publish hands a message over to where the server's own go: the topic, or the queue inside the process, for Drain.
func (s *Server) Publish(ctx context.Context, m ledger.Message) error {
	if s.options.Publisher != nil {
		return s.options.Publisher.Publish(ctx, m)
	}
	return s.queue.Publish(ctx, m)
}
