package firestore_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"go.uber.org/goleak"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/test/harness"
)

// theClientsOwn are the goroutines of the connections that the client makes where the emulator's
// variable is set, and never closes.
var theClientsOwn goleak.Option

// openUnderVariable opens a store whose emulator is at addr, by the variable alone, and returns what
// one commit to it comes out as. Then it closes the store.
func openUnderVariable(t *testing.T, addr string) error {
	t.Setenv("FIRESTORE_EMULATOR_HOST", addr)
	store, err := firestore.Open(t.Context(), harness.ProjectID(t), "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Commit(t.Context(), ledger.Write{Path: ledger.OperationPath("a"), Data: fullRecord()})
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	theClientsOwn = goleak.IgnoreCurrent()
	return err
}

func TestOpenHonoursTheEmulatorsVariable(t *testing.T) {
	addr := harness.Firestore(t)
	// For its first commit the emulator loads much of itself. On a busy machine that may take longer
	// than the store waits.
	database := "projects/" + harness.ProjectID(t) + "/databases/(default)"
	document := &firestorepb.Document{Name: database + "/documents/operations/a"}
	if _, err := firestorepb.NewFirestoreClient(uncounted(t)).Commit(t.Context(), &firestorepb.CommitRequest{
		Database: database,
		Writes:   []*firestorepb.Write{{Operation: &firestorepb.Write_Update{Update: document}}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{addr, "http://" + addr, "dns:///" + addr} {
		if err := openUnderVariable(t, given); err != nil {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// TestOpenErrors: an address that is none is named with its variable, and what is closed says so.
func TestOpenErrors(t *testing.T) {
	t.Setenv("FIRESTORE_EMULATOR_HOST", "%zz")
	store, err := firestore.Open(t.Context(), harness.ProjectID(t), "")
	if err == nil || !strings.Contains(err.Error(), "emulator at FIRESTORE_EMULATOR_HOST=%zz") {
		t.Errorf("Open: %v, %v, want an error with the variable", store, err)
	}
	theClientsOwn = goleak.IgnoreCurrent()
}

func TestCloseTwice(t *testing.T) {
	t.Parallel()
	store := open(t)
	first, second := store.Close(), store.Close()
	if first != nil || second == nil {
		t.Errorf("closed: %v, then %v, want an error from the second alone", first, second)
	}
}

// A forgetful server passes commits on to the emulator and loses the answer of the first.
type forgetful struct {
	firestorepb.UnimplementedFirestoreServer
	emulator firestorepb.FirestoreClient
	commits  atomic.Int32
}

func (s *forgetful) Commit(ctx context.Context, req *firestorepb.CommitRequest) (*firestorepb.CommitResponse, error) {
	answer, err := s.emulator.Commit(ctx, req)
	if s.commits.Add(1) == 1 && err == nil {
		return nil, status.Error(codes.Unavailable, "injected: the answer is lost")
	}
	return answer, err
}

// TestALostAnswerUnderTheEmulatorsVariable: commits are counted there, too. Otherwise what the client
// repeated by itself would look like another call's.
func TestALostAnswerUnderTheEmulatorsVariable(t *testing.T) {
	server := &forgetful{emulator: firestorepb.NewFirestoreClient(uncounted(t))}
	front := grpc.NewServer()
	firestorepb.RegisterFirestoreServer(front, server)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- front.Serve(listener) }()
	err = openUnderVariable(t, listener.Addr().String())
	if !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrConflict) || server.commits.Load() != 2 {
		t.Errorf("Commit: %v after %d requests, want ErrUnavailable alone after 2", err, server.commits.Load())
	}
	front.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestAConnectionThatCountsNothing: an answer with a gRPC status is no value that cannot be encoded,
// also where the caller's own connection counts no commits.
func TestAConnectionThatCountsNothing(t *testing.T) {
	t.Parallel()
	conn := option.WithGRPCConn(uncounted(t, inject(deny).dial()))
	store, err := firestore.Open(t.Context(), harness.ProjectID(t), "", conn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.Commit(t.Context(), ledger.Write{Path: ledger.OperationPath("a"), Data: fullRecord()})
	if !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("Commit: %v, want ErrUnavailable alone", err)
	}
}

// uncounted returns a connection to the emulator, which the test's end closes.
func uncounted(t *testing.T, dial ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	dial = append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("passthrough:///"+harness.Firestore(t), dial...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
