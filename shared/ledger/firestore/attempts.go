package firestore

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
)

// attempts counts how often the client sends one commit: it repeats one that was answered
// UNAVAILABLE or RESOURCE_EXHAUSTED and does not report that it did.
type attempts struct{ n atomic.Int32 }

type attemptsKey struct{}

// count returns the context under which a commit is counted.
func (a *attempts) count(ctx context.Context) context.Context {
	return context.WithValue(ctx, attemptsKey{}, a)
}

// countAttempts is an interceptor of the connection.
func countAttempts(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	if a, ok := ctx.Value(attemptsKey{}).(*attempts); ok {
		a.n.Add(1)
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}
