package firestore

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
)

// repeats counts, below the client, what that repeats for one call of the store and does not report. Of a commit it
// counts how often it was sent: the client repeats one that was answered UNAVAILABLE or RESOURCE_EXHAUSTED. Of a read
// it counts the streams that brought documents: the client resumes one that breaks, and what is still to be read then
// comes of a later instant.
type repeats struct{ n atomic.Int32 }

type repeatsKey struct{}

// count returns the context under which a call is counted.
func (r *repeats) count(ctx context.Context) context.Context {
	return context.WithValue(ctx, repeatsKey{}, r)
}

// countAttempts is an interceptor of the connection.
func countAttempts(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	if r, ok := ctx.Value(repeatsKey{}).(*repeats); ok {
		r.n.Add(1)
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// countStreams is an interceptor of the connection.
func countStreams(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := streamer(ctx, desc, cc, method, opts...)
	if r, ok := ctx.Value(repeatsKey{}).(*repeats); ok && err == nil {
		stream = &countedStream{ClientStream: stream, read: r}
	}
	return stream, err
}

type countedStream struct {
	grpc.ClientStream
	read    *repeats
	counted bool
}

func (s *countedStream) RecvMsg(into any) error {
	err := s.ClientStream.RecvMsg(into)
	if err == nil && !s.counted {
		s.counted = true
		s.read.n.Add(1)
	}
	return err
}
