// Package meter counts what the requests of a test would cost in Firestore.
package meter

import (
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"sync"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
)

// A Metered is what requests cost, counted as Firestore's price list does: a read for each document
// that was requested or found, at least one for each query, and a write for each document that was
// written.
type Metered struct {
	RPCs   map[string]int // by method; a repeated request counts again
	Reads  int
	Writes int
}

// Requests returns how many requests there were.
func (b Metered) Requests() int {
	n := 0
	for _, count := range b.RPCs {
		n += count
	}
	return n
}

// A Meter keeps the bill of a connection.
type Meter struct {
	mu   sync.Mutex
	bill Metered
}

// Dial returns the options that put the meter into a connection. Behind a layer that injects faults
// it sees what the server sees, before one what the client requested.
func (m *Meter) Dial() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(m.unary), grpc.WithChainStreamInterceptor(m.stream)}
}

// Collect returns the bill since the last call.
func (m *Meter) Collect() Metered {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.bill
	taken.RPCs = maps.Clone(taken.RPCs)
	m.bill = Metered{}
	return taken
}

func (m *Meter) count(method string, reads, writes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if method != "" {
		if m.bill.RPCs == nil {
			m.bill.RPCs = map[string]int{}
		}
		m.bill.RPCs[path.Base(method)]++
	}
	m.bill.Reads += reads
	m.bill.Writes += writes
}

func (m *Meter) unary(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	err := invoke(ctx, method, req, reply, cc, opts...)
	writes := 0
	if commit, ok := req.(*firestorepb.CommitRequest); ok && err == nil {
		writes = len(commit.GetWrites())
	}
	m.count(method, 0, writes)
	return err
}

func (m *Meter) stream(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	m.count(method, 0, 0)
	stream, err := streamer(ctx, desc, cc, method, opts...)
	return &meteredStream{ClientStream: stream, meter: m}, err
}

type meteredStream struct {
	grpc.ClientStream
	meter *Meter
	reads int
}

func (s *meteredStream) RecvMsg(into any) error {
	err := s.ClientStream.RecvMsg(into)
	read := false
	switch response := into.(type) {
	case *firestorepb.RunAggregationQueryResponse:
		for _, counted := range response.GetResult().GetAggregateFields() { // one read for each 1,000, and at least one
			s.meter.count("", max(1, int(counted.GetIntegerValue()+999)/1000), 0)
		}
	case *firestorepb.BatchGetDocumentsResponse:
		read = err == nil && response.GetResult() != nil
	case *firestorepb.RunQueryResponse:
		// A query that finds nothing is one read.
		read = err == nil && response.GetDocument() != nil || errors.Is(err, io.EOF) && s.reads == 0
	}
	if read {
		s.reads++
		s.meter.count("", 1, 0)
	}
	return err
}
