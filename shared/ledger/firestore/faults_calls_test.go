package firestore_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/harness"
)

// A faultCall is one call of the ledger, as its caller makes it.
type faultCall struct {
	// name is the method's, perhaps with a case behind a slash.
	name    string
	arrange func(w *faultWorld)
	// act makes the call. Its result must be that of the call without a fault.
	act func(w *faultWorld) (any, error)
	// again is what the caller does afterwards: a redelivery, the next message or pass. nil: the same
	// call. Where once is set it does so only after an error.
	again func(w *faultWorld) error
	once  bool
	// settled are the errors of again that say that nothing is left to do.
	settled []error
	// loose are the fields that may differ where the call was made twice: counts of attempts.
	loose []string
	// reads: it writes nothing, so that all its faults meet one arrangement.
	reads bool
	// timely: what it does depends on the time, so that none passes meanwhile.
	timely bool
}

func (c faultCall) repeat(w *faultWorld, failed bool) error {
	if c.once && !failed {
		return nil
	}
	err := error(nil)
	if c.again != nil {
		err = c.again(w)
	} else {
		_, err = c.act(w)
	}
	if slices.ContainsFunc(c.settled, func(settled error) bool { return errors.Is(err, settled) }) {
		return nil
	}
	return err
}

// TestEveryCallThroughEveryFault: each request of each call of the ledger meets each fault of the
// wire. The requests are those that the call was seen to make. The call returns no error only where
// its work is done. Its error says that the store failed, and never that a retry is of no use.
// The caller's next call then leaves what it leaves without any fault: everything was done once. A
// worker that was overtaken in between has changed nothing since [W3, S6, R6].
//
// The short setting plays one in thirty-two of them, the gate one in four.
func TestEveryCallThroughEveryFault(t *testing.T) {
	t.Parallel()
	raw := rawClient(t)
	populated := newFaultWorld(t)
	populate(populated)
	sample := harness.Soak(t, uint32(32), 4, 1)
	var injected, cases, requests atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d calls make %d requests; %d cases injected %d faults",
			len(faultCalls()), requests.Load(), cases.Load(), injected.Load())
	})
	for _, call := range faultCalls() {
		t.Run(call.name, func(t *testing.T) {
			t.Parallel()
			want := call.withoutFault(t, raw, populated)
			requests.Add(int64(len(want.requests)))
			for i, method := range want.requests {
				for _, fault := range wireFaults() {
					name := fmt.Sprintf("%s %d %s", method, i, fault.name)
					chosen := crc32.ChecksumIEEE([]byte(call.name+name))%sample == 0
					if !fault.meets(method) || fault.isLate() && (call.reads || call.timely) || !chosen {
						continue
					}
					cases.Add(1)
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						injected.Add(int64(call.through(call.world(t, populated), t, raw, want, i, fault)))
					})
				}
			}
		})
	}
}

// An unfaulted is what a call does without a fault.
type unfaulted struct {
	requests     []string
	result       string
	first, after map[string]string // what is stored after the call, and after it was made again
}

// world returns what the call is made on, over a connection of its own.
func (c faultCall) world(t *testing.T, populated *faultWorld) *faultWorld {
	t.Helper()
	if c.reads {
		return populated.beside(t)
	}
	w := newFaultWorld(t)
	c.arrange(w)
	return w
}

func (c faultCall) withoutFault(t *testing.T, raw firestorepb.FirestoreClient, populated *faultWorld) unfaulted {
	t.Helper()
	w := c.world(t, populated)
	s := &script{at: -1}
	w.ctx = s.begin(t.Context())
	defer s.end()
	value, err := c.act(w)
	w.ctx = t.Context()
	if err != nil {
		t.Fatalf("without a fault: %v", err)
	}
	u := unfaulted{requests: s.requests, result: resultText(value)}
	if c.reads {
		if slices.Contains(s.requests, "Commit") {
			t.Fatalf("a call that only reads made the requests %q", s.requests)
		}
		return u
	}
	u.first = w.documents(raw, c.loose...)
	if err := c.repeat(w, false); err != nil {
		t.Fatalf("again, without a fault: %v", err)
	}
	u.after = w.documents(raw, c.loose...)
	return u
}

// through makes the call on w while its request at index meets the fault, and returns how often it
// did.
func (c faultCall) through(
	w *faultWorld, t *testing.T, raw firestorepb.FirestoreClient, want unfaulted, index int, fault wireFault,
) int {
	s := &script{fault: fault, at: index, late: w.overtake, wires: &w.wires}
	w.ctx = s.begin(t.Context())
	defer s.end()
	value, err := c.act(w)
	w.ctx = t.Context()
	if s.injected == 0 {
		t.Errorf("the fault was not met, and the call ended with %v", err)
	}
	c.judge(t, fault, err)
	if err == nil && !fault.isLate() && resultText(value) != want.result {
		t.Errorf("the result is\n%s\nwant\n%s", resultText(value), want.result)
	}
	if c.reads {
		return s.injected
	}
	overtaken := w.rivals != nil
	if err == nil && !overtaken {
		if diff := difference(w.documents(raw, c.loose...), want.first); diff != "" {
			t.Errorf("there was no error, but %s", diff)
		}
	}
	if err := c.repeat(w, err != nil); err != nil && !(overtaken && errors.Is(err, ledger.ErrLeaseLost)) {
		t.Errorf("the next call: %v", err)
	}
	if overtaken {
		if now := w.leased(); now != *w.rivals {
			t.Errorf("the effect was changed under another worker's lease: %s, then %s", *w.rivals, now)
		}
		return s.injected
	}
	if diff := difference(w.documents(raw, c.loose...), want.after); diff != "" {
		t.Errorf("after the next call %s", diff)
	}
	return s.injected
}

// judge checks the error of a call that met a fault.
func (c faultCall) judge(t *testing.T, fault wireFault, err error) {
	t.Helper()
	if err == nil {
		if fault.every || fault.place == silentBefore {
			t.Errorf("no error, although a request was never answered")
		}
		return
	}
	allowed := []error{ledger.ErrUnavailable}
	switch {
	case fault.endsCaller():
		allowed = append(allowed, errDeadline)
	case fault.isLate():
		allowed = []error{ledger.ErrLeaseLost, ledger.ErrConflict}
	case fault.conflicts():
		allowed = append(allowed, ledger.ErrContention, ledger.ErrConflict)
	}
	known := slices.ContainsFunc(allowed, func(a error) bool { return errors.Is(err, a) })
	if !known || ledger.Permanent(err) {
		t.Errorf("%v is not of %v alone", err, allowed)
	}
	if strings.HasPrefix(err.Error(), "rpc error") {
		t.Errorf("%v does not say what was attempted", err)
	}
	if fault.place == refused && errors.Is(err, ledger.ErrUnavailable) && !strings.Contains(err.Error(), said) {
		t.Errorf("%v does not say why", err)
	}
}

// TestEveryCallHasFaults: no method of the ledger that asks the store is without a row.
func TestEveryCallHasFaults(t *testing.T) {
	t.Parallel()
	without := []string{"Settings", "ItemsBackoff", "GiveUpAnyway", "Reading", "Start", "Conclude"} // they ask nothing
	rows := map[string]bool{}
	for _, call := range faultCalls() {
		method, _, _ := strings.Cut(call.name, "/")
		rows[method] = true
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[*ledger.Ledger](), reflect.TypeFor[*ledger.Lookups](), reflect.TypeFor[ledger.Reading](),
	} {
		prefix := map[reflect.Type]string{reflect.TypeFor[*ledger.Lookups](): "Lookups."}[of]
		for i := range of.NumMethod() {
			if name := of.Method(i).Name; !rows[prefix+name] && !slices.Contains(without, name) {
				t.Errorf("faultCalls has no row for %s of %s", name, of)
			}
		}
	}
}

func rawClient(t *testing.T) firestorepb.FirestoreClient {
	t.Helper()
	owner := func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
		opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		return streamer(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer owner"), desc, cc, method, opts...)
	}
	conn, err := grpc.NewClient("passthrough:///"+harness.Firestore(t),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithChainStreamInterceptor(owner))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return firestorepb.NewFirestoreClient(conn)
}
