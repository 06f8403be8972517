package firestore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A place is where one request between the client and Firestore goes wrong.
type place int

const (
	refused       place = iota // it does not arrive
	lost                       // it is made, and an error comes in place of the answer's end
	midway                     // a stream ends with an error behind its first document
	midwayLate                 // the same, and the rest is read after the lease has run out
	silentBefore               // it does not arrive, and nothing comes until the caller's time is over
	silentAfter                // it is made, and the same
	lateBefore                 // it arrives after the lease has run out
	lateAfter                  // its answer does
	cutAsSent                  // the connection is cut while it is sent
	cutAsAnswered              // the connection is cut while it is answered
)

// A wireFault is one way for a request to go wrong.
type wireFault struct {
	name  string
	place place
	code  codes.Code
	every bool // all later requests of the same call, too
	// streams and commits: which requests it happens to.
	streams, commits bool
}

// said marks every error that a wireFault makes up.
const said = "injected on the wire"

func (f wireFault) err() error { return status.Error(f.code, said+": "+f.name) }

// A script says what happens to the requests of one call of the ledger. The wire finds it in the
// call's context, so that other calls over the same connection are left alone.
type script struct {
	*expiring
	fault wireFault
	at    int    // the index of the request that meets the fault; negative: none
	late  func() // happens while the request, or its answer, is under way
	wires *wires

	mu       sync.Mutex
	requests []string // the method of each
	injected int
}

type scriptKey struct{}

// begin returns the context of a call that meets the fault.
func (s *script) begin(ctx context.Context) context.Context {
	s.expiring = &expiring{Context: ctx, over: make(chan struct{})}
	return context.WithValue(s.expiring, scriptKey{}, s)
}

// next counts a request, and returns the fault that it meets.
func (s *script) next(method string) (fault wireFault, faulty bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	index := len(s.requests)
	s.requests = append(s.requests, path.Base(method))
	if s.at < 0 || index < s.at || index > s.at && !s.fault.every {
		return wireFault{}, false
	}
	s.injected++
	if s.fault.every && s.injected == 4 && clientRepeats(s.fault.code) {
		s.end() // the client would repeat it for 10 s
	}
	return s.fault, true
}

// clientRepeats reports whether the client repeats a request by itself that was answered so.
func clientRepeats(code codes.Code) bool {
	return code == codes.Unavailable || code == codes.ResourceExhausted
}

// before does what happens before the request is sent, and reports whether it is not sent.
func (s *script) before(ctx context.Context, f wireFault) error {
	switch f.place {
	case refused:
		return f.err()
	case silentBefore:
		return s.silence(ctx)
	case lateBefore:
		s.late()
	case cutAsSent, cutAsAnswered:
		s.wires.arm(f.place)
	}
	return nil
}

// after does what happens after the request was made, and returns the error in place of its answer.
func (s *script) after(ctx context.Context, f wireFault) error {
	switch f.place {
	case lost, midway:
		return f.err()
	case midwayLate:
		s.late()
		return f.err()
	case silentAfter:
		return s.silence(ctx)
	case lateAfter:
		s.late()
	}
	return nil
}

// silence ends the caller's time, and returns what the client makes of that.
func (s *script) silence(ctx context.Context) error {
	s.end()
	<-ctx.Done()
	return status.FromContextError(ctx.Err()).Err()
}

// An expiring is a context whose deadline passes when it is told to.
type expiring struct {
	context.Context
	over chan struct{}
	once sync.Once
}

func (e *expiring) Done() <-chan struct{} { return e.over }

func (e *expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func (e *expiring) end() { e.once.Do(func() { close(e.over) }) }

// unaryByScript and streamByScript are the layer of a connection that plays the scripts.
func unaryByScript(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	s, scripted := ctx.Value(scriptKey{}).(*script)
	if !scripted {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	f, faulty := s.next(method)
	if faulty {
		if err := s.before(ctx, f); err != nil {
			return err
		}
	}
	if err := invoke(ctx, method, req, reply, cc, opts...); err != nil || !faulty {
		return err
	}
	return s.after(ctx, f)
}

func streamByScript(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, scripted := ctx.Value(scriptKey{}).(*script)
	if !scripted {
		return streamer(ctx, desc, cc, method, opts...)
	}
	f, faulty := s.next(method)
	if faulty {
		if err := s.before(ctx, f); err != nil {
			if status.Code(err) == codes.Unavailable {
				return nil, err // as where there is no connection
			}
			return refusedStream{err: err}, nil
		}
	}
	inner, err := streamer(ctx, desc, cc, method, opts...)
	if err != nil || !faulty {
		return inner, err
	}
	return &faultyStream{ClientStream: inner, ctx: ctx, script: s, fault: f}, nil
}

// A refusedStream is answered with an error, as a server answers: behind the request.
type refusedStream struct {
	grpc.ClientStream
	err error
}

func (s refusedStream) SendMsg(any) error { return nil }
func (s refusedStream) CloseSend() error  { return nil }
func (s refusedStream) RecvMsg(any) error { return s.err }

// A faultyStream meets its fault behind its first answer, or in place of its end.
type faultyStream struct {
	grpc.ClientStream
	ctx      context.Context //nolint:containedctx // a stream has one
	script   *script
	fault    wireFault
	received int
}

func (s *faultyStream) RecvMsg(into any) error {
	atEnd := s.fault.place == lost
	if s.received == 1 && !atEnd {
		if err := s.script.after(s.ctx, s.fault); err != nil {
			return err
		}
	}
	err := s.ClientStream.RecvMsg(into)
	if errors.Is(err, io.EOF) && atEnd {
		return s.fault.err()
	}
	s.received++
	return err
}

// wires are the connections of a client, which can be cut.
type wires struct {
	mu    sync.Mutex
	armed bool
	as    place
}

// arm cuts the connection at its next write, or at the next answer that it reads.
func (w *wires) arm(as place) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.as = true, as
}

func (w *wires) cuts(as place) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	cut := w.armed && w.as == as
	w.armed = w.armed && !cut
	return cut
}

func (w *wires) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	return cuttable{Conn: conn, wires: w}, err
}

// options are those of a connection that plays scripts and can be cut.
func (w *wires) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithContextDialer(w.dial), grpc.WithChainUnaryInterceptor(unaryByScript),
		grpc.WithChainStreamInterceptor(streamByScript),
	}
}

type cuttable struct {
	net.Conn
	wires *wires
}

func (c cuttable) Write(p []byte) (int, error) {
	if c.wires.cuts(cutAsSent) {
		return 0, errors.Join(io.ErrClosedPipe, c.Close())
	}
	return c.Conn.Write(p)
}

func (c cuttable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && c.wires.cuts(cutAsAnswered) {
		return 0, errors.Join(io.ErrUnexpectedEOF, c.Close())
	}
	return n, err
}
