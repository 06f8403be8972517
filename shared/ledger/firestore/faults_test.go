package firestore_test

import (
	"context"
	"errors"
	"path"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
)

// A fault is one way for a Commit request to fail between the client and Firestore.
type fault string

const (
	none fault = ""
	// UNAVAILABLE, ABORTED and RESOURCE_EXHAUSTED, before the server has the commit.
	failBefore fault = "fails before the commit"
	abort      fault = "aborts"
	exhaust    fault = "is exhausted before the commit"
	// UNAVAILABLE and INTERNAL, after the server has made the commit.
	loseAnswer fault = "commits and loses the answer"
	breakDown  fault = "breaks down"
	// INVALID_ARGUMENT: the transaction is over; it was too big, in production's exact text; it has
	// a text that contains that one.
	expire     fault = "finds that the referenced transaction has expired or is no longer valid"
	overflow   fault = "Transaction too big. Decrease transaction size."
	overflowed fault = "says something new: its transaction too big was closed"
	// PERMISSION_DENIED.
	deny fault = "has no permission"
)

func (f fault) code() codes.Code {
	switch f {
	case abort:
		return codes.Aborted
	case exhaust:
		return codes.ResourceExhausted
	case expire, overflow, overflowed:
		return codes.InvalidArgument
	case deny:
		return codes.PermissionDenied
	case breakDown:
		return codes.Internal
	default:
		return codes.Unavailable
	}
}

// A breaker is a layer of a connection whose Commit requests fail as planned.
type breaker struct {
	mu   sync.Mutex
	next func() fault
}

// inject returns a breaker whose first Commit requests meet the given faults; later ones pass.
func inject(faults ...fault) *breaker {
	return &breaker{next: func() fault {
		if len(faults) == 0 {
			return none
		}
		f := faults[0]
		faults = faults[1:]
		return f
	}}
}

func (b *breaker) dial() grpc.DialOption { return grpc.WithChainUnaryInterceptor(b.unary) }

func (b *breaker) unary(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	if path.Base(method) != "Commit" {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	trace, _ := ctx.Value(traceKey{}).(*trace)
	if trace != nil && trace.spared {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	b.mu.Lock()
	f := b.next()
	b.mu.Unlock()
	if f == none || f == loseAnswer || f == breakDown {
		if err := invoke(ctx, method, req, reply, cc, opts...); err != nil || f == none {
			trace.note(f, false)
			return err
		}
		trace.note(f, true)
	} else {
		trace.note(f, false)
	}
	if f == overflow {
		return status.Error(f.code(), string(f))
	}
	return status.Error(f.code(), "injected: the store "+string(f))
}

// A trace is what a breaker did to one Commit of a store. The breaker finds it in the context.
type trace struct {
	faults    []fault
	committed bool // although the answer was lost
	spared    bool // the breaker leaves it alone
}

type traceKey struct{}

func (t *trace) note(f fault, committed bool) {
	if t != nil {
		t.faults = append(t.faults, f)
		t.committed = t.committed || committed
	}
}

// An enduring is a store behind a breaker for tests that expect every commit to be answered. It
// checks that each injected fault becomes the error that the ledger needs; then it does what
// the breaker prevented, so that only what the test itself does decides how a commit ends.
type enduring struct {
	*firestore.Store
	fail func(format string, args ...any)
}

func (s enduring) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	for {
		var t trace
		tokens, err := s.Store.Commit(context.WithValue(ctx, traceKey{}, &t), writes...)
		if len(t.faults) == 0 || t.faults[0] == none {
			return tokens, err
		}
		switch {
		case t.committed: // it must look neither like another call's write nor like refused documents
			if !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrConflict) ||
				errors.Is(err, ledger.ErrInvalid) {
				s.fail("a commit that %q returned %v, want ErrUnavailable alone", t.faults, err)
			}
			return s.tokens(ctx, writes)
		case t.faults[0] == abort:
			if !errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrUnavailable) {
				s.fail("a commit that %q returned %v, want ErrConflict alone", t.faults, err)
			}
		case len(t.faults) > 1 && errors.Is(err, ledger.ErrConflict):
			s.fail("a commit that %q and was repeated returned %v: the store cannot know that", t.faults, err)
			return nil, err
		case errors.Is(err, ledger.ErrUnavailable): // the breaker knows that it was not made
			return s.Store.Commit(context.WithValue(ctx, traceKey{}, &trace{spared: true}), writes...)
		default: // the client repeated it by itself
			return tokens, err
		}
	}
}

// tokens reads the tokens that a lost answer would have had.
func (s enduring) tokens(ctx context.Context, writes []ledger.Write) ([]ledger.Token, error) {
	paths := make([]ledger.Path, len(writes))
	for i, w := range writes {
		paths[i] = w.Path
	}
	snapshot, err := s.Get(ctx, paths...)
	tokens := make([]ledger.Token, len(snapshot.Documents))
	for i, doc := range snapshot.Documents {
		tokens[i] = doc.Token
	}
	return tokens, err
}
