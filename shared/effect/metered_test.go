package effect_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/test/harness"
)

// A metered store counts its operations, and the requests over the wire for them.
type metered struct {
	*ledgertest.Counting
	rpcs atomic.Int64
}

// A cost is a number of operations of a store. A request is one over the wire; SQLite has none.
type cost struct{ requests, reads, writes int }

func (m *metered) cost() cost {
	n := m.Counts()
	return cost{int(m.rpcs.Load()), n.Read, n.Writes}
}

func (c cost) since(before cost) cost {
	return cost{c.requests - before.requests, c.reads - before.reads, c.writes - before.writes}
}

// inFile is a SQLite file.
func inFile(t testing.TB) *metered {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return closing(t, &metered{Counting: ledgertest.Count(store)})
}

// onEmulator is an empty project on the Firestore emulator.
func onEmulator(t testing.TB) *metered {
	t.Helper()
	m := &metered{}
	store, err := firestore.Open(t.Context(), harness.ProjectID(t), "", dial.Options(harness.Firestore(t),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			m.rpcs.Add(1)
			return invoke(ctx, method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			m.rpcs.Add(1)
			return open(ctx, desc, cc, method, opts...)
		}))...)
	if err != nil {
		t.Fatal(err)
	}
	m.Counting = ledgertest.Count(store)
	return closing(t, m)
}

func closing(t testing.TB, m *metered) *metered {
	t.Helper()
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}
