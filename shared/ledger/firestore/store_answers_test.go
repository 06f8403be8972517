package firestore_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// An answering server gives answers that Firestore may give and the emulator does not.
type answering struct {
	firestorepb.UnimplementedFirestoreServer
	readTimes []time.Time // of the documents that are read, none of which exists
}

func (s answering) BatchGetDocuments(
	req *firestorepb.BatchGetDocumentsRequest, stream firestorepb.Firestore_BatchGetDocumentsServer,
) error {
	for i, name := range req.Documents {
		if err := stream.Send(&firestorepb.BatchGetDocumentsResponse{
			Result:   &firestorepb.BatchGetDocumentsResponse_Missing{Missing: name},
			ReadTime: timestamppb.New(s.readTimes[i]),
		}); err != nil {
			return err
		}
	}
	return nil
}

// RunAggregationQuery answers without what was asked for.
func (answering) RunAggregationQuery(
	_ *firestorepb.RunAggregationQueryRequest, stream firestorepb.Firestore_RunAggregationQueryServer,
) error {
	return stream.Send(&firestorepb.RunAggregationQueryResponse{Result: &firestorepb.AggregationResult{}})
}

// store serves the answers, and returns a store that gets them.
func (s answering) store(t *testing.T) *firestore.Store {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	firestorepb.RegisterFirestoreServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	options := dial.Options(listener.Addr().String())
	store, err := firestore.Open(t.Context(), harness.ProjectID(t), "", options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := store.Close()
		server.Stop()
		if err := errors.Join(err, <-served); err != nil {
			t.Error(err)
		}
	})
	return store
}

// TestReadTimeIsTheLatest: the documents of one answer have growing read times, and may come in
// another order than they were asked for. What is due by the latest is due.
func TestReadTimeIsTheLatest(t *testing.T) {
	t.Parallel()
	for _, later := range []int{0, 1} {
		times := []time.Time{today, today}
		times[later] = today.Add(time.Second)
		snapshot, err := answering{readTimes: times}.store(t).Get(
			t.Context(), ledger.OperationPath("a"), ledger.OperationPath("b"))
		if err != nil || !snapshot.ReadTime.Equal(today.Add(time.Second)) {
			t.Errorf("read at %v, %v, where document %d is of a second after %v", snapshot.ReadTime, err, later, today)
		}
	}
}

// TestAnAnswerWithoutACount: none is not 0, which would say that nothing is there.
func TestAnAnswerWithoutACount(t *testing.T) {
	t.Parallel()
	n, err := answering{}.store(t).Count(
		t.Context(), ledger.Query{Collection: ledger.EffectsCollection, OrderBy: ledger.FieldDueAt}, 10)
	if !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("counted %d, %v, want ErrUnavailable", n, err)
	}
}

// TestTheTokensOfACommit: a deletion has none, wherever it stands, and a commit of nothing has none.
func TestTheTokensOfACommit(t *testing.T) {
	t.Parallel()
	store := opened(t)
	a, b := ledger.OperationPath("a"), ledger.OperationPath("b")
	commit(t, store, ledger.Write{Path: a, Data: fullRecord()})
	made, err := store.Commit(t.Context(),
		ledger.Write{Path: b, Data: fullRecord()}, ledger.Write{Path: a, Token: get(t, store, a).Token})
	if err != nil || len(made) != 2 || made[0] != get(t, store, b).Token || made[1] != "" {
		t.Errorf("tokens %q, %v, want that of the new document and none of the deleted one", made, err)
	}
	if made, err := store.Commit(t.Context()); err != nil || len(made) != 0 {
		t.Errorf("a commit of nothing: %q, %v", made, err)
	}
}

// TestAPathThatIsNoneIsNamed: the error says which path is wrong.
func TestAPathThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	store := opened(t)
	const none ledger.Path = "operations/a/effects"
	query := func(q ledger.Query) error {
		q.Collection, q.OrderBy, q.Limit = ledger.EffectsCollection, ledger.FieldDueAt, 1
		_, err := store.Query(t.Context(), q)
		return err
	}
	_, committed := store.Commit(t.Context(), ledger.Write{Path: none, Data: fullRecord()})
	for what, err := range map[string]error{
		"Commit": committed, "under": query(ledger.Query{Under: none}),
		"after": query(ledger.Query{After: ledger.Cursor{Path: none, At: today}}),
	} {
		if !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), `"operations/a/effects" is not the path`) {
			t.Errorf("%s: %v, want ErrInvalid and the path", what, err)
		}
	}
}

// TestWhatBroughtNothingIsNotReadTwice: the client repeats a read that was refused. What came then is
// of one instant, because nothing came before.
func TestWhatBroughtNothingIsNotReadTwice(t *testing.T) {
	t.Parallel()
	requests := 0
	store := opened(t, grpc.WithChainStreamInterceptor(func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
		opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		if requests++; requests == 1 {
			return refusedStream{err: status.Error(codes.Unavailable, said)}, nil
		}
		return streamer(ctx, desc, cc, method, opts...)
	}))
	if _, err := store.Get(t.Context(), ledger.OperationPath("a")); err != nil || requests != 2 {
		t.Errorf("Get: %v after %d requests, want the second to be the last", err, requests)
	}
}

// TestTimesAreCut: a time is sent as Firestore keeps it, in whole microseconds. The emulator may keep
// more.
func TestTimesAreCut(t *testing.T) {
	t.Parallel()
	var sent time.Time
	store := opened(t, grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		if commit, ok := req.(*firestorepb.CommitRequest); ok {
			sent = commit.Writes[0].GetUpdate().Fields["createdAt"].GetTimestampValue().AsTime()
		}
		return invoke(ctx, method, req, reply, cc, opts...)
	}))
	at := today.Add(1_234_567)
	commit(t, store, ledger.Write{Path: ledger.OperationPath("a"), Data: operation.Record{CreatedAt: at}})
	if !sent.Equal(operation.Instant(at)) {
		t.Errorf("%v is sent as %v, want %v", at, sent, operation.Instant(at))
	}
}
