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

// streams counts the streams of one read that brought documents. The client resumes a stream that
// breaks: what is still to be read then comes of a later instant.
type streams struct{ n atomic.Int32 }

type streamsKey struct{}

// count returns the context under which a read's streams are counted.
func (s *streams) count(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamsKey{}, s)
}

// torn reports whether the documents are not of one instant.
func (s *streams) torn() bool { return s.n.Load() > 1 }

// countStreams is an interceptor of the connection.
func countStreams(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := streamer(ctx, desc, cc, method, opts...)
	if s, ok := ctx.Value(streamsKey{}).(*streams); ok && err == nil {
		stream = &countedStream{ClientStream: stream, read: s}
	}
	return stream, err
}

type countedStream struct {
	grpc.ClientStream
	read    *streams
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
