package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// A storeDoor stands between processes and Firestore. Each process has an address of its own there,
// so that the door knows who asks. It passes everything on as it is, knows which commits were made,
// and kills a process exactly where its claim or its finish has been made, or has not.
type storeDoor struct {
	t        *testing.T
	fleet    *fleet // whose killer it asks; set before the first process starts
	server   *grpc.Server
	upstream *grpc.ClientConn
	serving  sync.WaitGroup

	mu        sync.Mutex
	processes map[string]string // by address
	effects   map[string]*kept  // by idempotency key
}

func newStoreDoor(t *testing.T, address string) *storeDoor {
	t.Helper()
	d := &storeDoor{t: t, processes: map[string]string{}, effects: map[string]*kept{}}
	var err error
	d.upstream, err = grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(maxFrame)))
	if err != nil {
		t.Fatal(err)
	}
	d.server = grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(d.handle),
		grpc.MaxRecvMsgSize(maxFrame), grpc.WaitForHandlers(true))
	t.Cleanup(func() {
		d.server.Stop()
		d.serving.Wait()
		if err := d.upstream.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// maxFrame is more than any message of Firestore's.
const maxFrame = 64 << 20

// address opens the address where the process of that id is to find Firestore.
func (d *storeDoor) address(id string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Errorf("opening a door for %s: %v", id, err)
		return ""
	}
	d.mu.Lock()
	d.processes[listener.Addr().String()] = id
	d.mu.Unlock()
	d.serving.Go(func() { _ = d.server.Serve(listener) }) // until it is stopped
	return listener.Addr().String()
}

func (d *storeDoor) handle(_ any, stream grpc.ServerStream) error {
	ctx := stream.Context()
	method, _ := grpc.MethodFromServerStream(stream)
	header, _ := metadata.FromIncomingContext(ctx)
	ctx = metadata.NewOutgoingContext(ctx, header)
	from, _ := peer.FromContext(ctx)
	d.mu.Lock()
	process := d.processes[from.LocalAddr.String()]
	d.mu.Unlock()
	var request []byte // no method that the ledger uses has more than one
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	if path.Base(method) == "Commit" {
		return d.commit(ctx, process, method, request, stream)
	}
	answers, err := d.upstream.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return err
	}
	if err := errors.Join(answers.SendMsg(&request), answers.CloseSend()); err != nil {
		return err
	}
	for {
		var answer []byte
		if err := answers.RecvMsg(&answer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.SendMsg(&answer); err != nil {
			return err
		}
	}
}

// commit passes a commit on, unless its process is killed first, and the answer back, unless it is
// killed then. What was passed on is waited for even if the process dies meanwhile: whether it was
// made is always known.
func (d *storeDoor) commit(ctx context.Context, process, method string, request []byte,
	stream grpc.ServerStream) error {
	change, err := d.read(request)
	if err != nil {
		return err
	}
	killer := d.fleet.killer
	if change.finishes && killer.strike(finishing, process, change.key) {
		return errKilled
	}
	var answer []byte
	if err := d.upstream.Invoke(context.WithoutCancel(ctx), method, &request, &answer); err != nil {
		return err
	}
	d.note(change, process)
	if change.claims && killer.strike(claiming, process, change.key) ||
		change.finishes && killer.strike(finishLost, process, change.key) {
		return errKilled
	}
	return stream.SendMsg(&answer)
}

var errKilled = errors.New("the caller was killed") // no process reads it

// raw is a codec that leaves messages as they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) {
	message, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("marshaling a %T", v)
	}
	return *message, nil
}

func (raw) Unmarshal(data []byte, v any) error {
	message, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("unmarshaling into a %T", v)
	}
	*message = append([]byte(nil), data...)
	return nil
}

func (raw) Name() string { return "proto" }
