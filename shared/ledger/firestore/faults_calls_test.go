package firestore_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest/calls"
	"github.com/opledger/opledger/test/harness"
)

// A faultCall is one call of the ledger, which meets faults.
type faultCall struct{ calls.Call }

func (c faultCall) repeat(w *faultWorld, failed bool) error {
	if c.Once && !failed {
		return nil
	}
	err := error(nil)
	if c.Again != nil {
		err = c.Again(w.World)
	} else {
		_, err = c.Act(w.World)
	}
	if slices.ContainsFunc(c.Settled, func(settled error) bool { return errors.Is(err, settled) }) {
		return nil
	}
	return err
}

// looseFirst are the fields that may differ after one call that ended without an error.
func (c faultCall) looseFirst() []string {
	if c.Rewrites {
		return c.Loose
	}
	return nil
}

// TestEveryCallThroughEveryFault: each request of each call of the ledger meets each fault of the
// wire. The requests are those that the call was seen to make. The call returns no error only where
// its work is done. Its error says that the store failed, and never that a retry is of no use.
// The caller's next call then leaves what it leaves without any fault: everything was done once. A
// worker that was overtaken in between has changed nothing since [W3, S6, R6].
//
// The short setting plays one in sixty-four of them, each fault several times; the night one in four. Outside of the
// gate the short one has every second call.
func TestEveryCallThroughEveryFault(t *testing.T) {
	t.Parallel()
	raw := rawClient(t)
	populated := newFaultWorld(t)
	calls.Populate(populated.World)
	sample, few := harness.Soak(t, uint32(64), 4, 1), !harness.Thorough(t)
	var injected, cases, requests atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d calls make %d requests; %d cases injected %d faults",
			len(calls.All()), requests.Load(), cases.Load(), injected.Load())
	})
	for _, each := range calls.All() {
		call := faultCall{each}
		if few && crc32.ChecksumIEEE([]byte(call.Name))%2 == 0 {
			continue
		}
		t.Run(call.Name, func(t *testing.T) {
			t.Parallel()
			want := call.withoutFault(t, raw, populated)
			requests.Add(int64(len(want.requests)))
			for i, method := range want.requests {
				for _, fault := range wireFaults() {
					name := fmt.Sprintf("%s %d %s", method, i, fault.name)
					chosen := crc32.ChecksumIEEE([]byte(call.Name+name))%sample == 0
					if !fault.meets(method) || fault.isLate() && call.Reads || !chosen {
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
	if c.Reads {
		return populated.beside(t)
	}
	w := newFaultWorld(t)
	c.Arrange(w.World)
	return w
}

func (c faultCall) withoutFault(t *testing.T, raw firestorepb.FirestoreClient, populated *faultWorld) unfaulted {
	t.Helper()
	w := c.world(t, populated)
	s := &script{at: -1}
	w.Ctx = s.begin(t.Context())
	defer s.end()
	value, err := c.Act(w.World)
	w.Ctx = t.Context()
	if err != nil {
		t.Fatalf("without a fault: %v", err)
	}
	u := unfaulted{requests: s.requests, result: resultText(value)}
	if c.Reads {
		if slices.Contains(s.requests, "Commit") {
			t.Fatalf("a call that only reads made the requests %q", s.requests)
		}
		return u
	}
	u.first = w.documents(raw, c.looseFirst()...)
	if err := c.repeat(w, false); err != nil {
		t.Fatalf("again, without a fault: %v", err)
	}
	u.after = w.documents(raw, c.Loose...)
	return u
}

// through makes the call on w while its request at index meets the fault, and returns how often it
// did.
func (c faultCall) through(
	w *faultWorld, t *testing.T, raw firestorepb.FirestoreClient, want unfaulted, index int, fault wireFault,
) int {
	s := &script{fault: fault, at: index, late: w.overtake, wires: &w.wires}
	w.Ctx = s.begin(t.Context())
	defer s.end()
	value, err := c.Act(w.World)
	w.Ctx = t.Context()
	if s.injected == 0 {
		t.Errorf("the fault was not met, and the call ended with %v", err)
	}
	c.judge(t, fault, err, want.requests[index])
	if err == nil && !fault.isLate() && resultText(value) != want.result {
		t.Errorf("the result is\n%s\nwant\n%s", resultText(value), want.result)
	}
	if c.Reads {
		return s.injected
	}
	overtaken := w.rivals != nil
	if err == nil && !overtaken {
		if diff := difference(w.documents(raw, c.looseFirst()...), want.first); diff != "" {
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
	if diff := difference(w.documents(raw, c.Loose...), want.after); diff != "" {
		t.Errorf("after the next call %s", diff)
	}
	return s.injected
}

// judge checks the error of a call whose request of a method met a fault.
func (c faultCall) judge(t *testing.T, fault wireFault, err error, method string) {
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
		allowed = append(allowed, context.DeadlineExceeded)
	case fault.isLate():
		allowed = []error{ledger.ErrLeaseLost, ledger.ErrConflict}
		if method == "RunQuery" && fault.place == midwayLate { // a query that broke off is not resumed
			allowed = append(allowed, ledger.ErrUnavailable)
		}
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
	// On a machine that is so slow a limit of Requeue's own may end it in another place.
	over := strings.HasPrefix(c.Name, "Effects.Requeue/") && strings.Contains(err.Error(), "not done within 2.5s")
	if fault.place == refused && errors.Is(err, ledger.ErrUnavailable) && !strings.Contains(err.Error(), said) && !over {
		t.Errorf("%v does not say why", err)
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
