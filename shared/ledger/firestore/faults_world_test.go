package firestore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// The effects of a faultWorld's rules.
const (
	alarm = "alarm" // when an operation fails
	page  = "page"  // for every alert
)

// A faultWorld is one call of the ledger on an empty project: what is arranged before it, and what it
// left behind.
type faultWorld struct {
	testing.TB
	ctx     context.Context // of the call; without faults while it is arranged
	project string
	wires   wires
	store   *ledgertest.Skewed
	outbox  harness.Outbox
	l       *ledger.Ledger
	start   time.Time

	// What is arranged, for the call.
	lease     ledger.Lease
	operation ledger.DueOperation
	effect    ledger.DueEffect
	waiting   ledger.DueIntent
	lookups   *ledger.Lookups
	// rivals is what the documents of a leased effect were after another worker had claimed it.
	rivals *string
}

func newFaultWorld(t testing.TB) *faultWorld {
	t.Helper()
	w := &faultWorld{TB: t, ctx: t.Context(), project: harness.ProjectID(t), start: operation.Instant(time.Now())}
	client := harness.ClientOptions(harness.Firestore(t), w.wires.options()...)
	store, err := firestore.Open(t.Context(), w.project, "", client...)
	w.must(err)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	w.store = ledgertest.Skew(ledgertest.Check(t, store))
	settings := ledger.DefaultSettings()
	settings.MaxAttempts, settings.RetryFor = 2, 0
	settings.Rules = []ledger.Rule{
		{Name: publish, On: []operation.State{operation.Succeeded}},
		{Name: alarm, On: []operation.State{operation.Failed}},
		{Name: page, Alerts: ledger.Alerts()},
	}
	options := ledger.Options{Publisher: &w.outbox, Jitter: func() float64 { return 0 }}
	w.l, err = ledger.New(unreadable{w.store}, settings, options)
	w.must(err)
	return w
}

func (w *faultWorld) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// got returns a value without its error, which fails the test.
func got[T any](w *faultWorld) func(T, error) T {
	return func(value T, err error) T {
		w.Helper()
		w.must(err)
		return value
	}
}

// key is the operation that most calls are about.
var key = nameOf(1).Key

func (w *faultWorld) registration() ledger.Registration {
	return ledger.Registration{Name: nameOf(1), JobKind: "kind", SubmittedAt: w.start, CorrelationID: "c-1"}
}

func (w *faultWorld) event(delivery string, state operation.State) operation.Event {
	e := success(1, delivery)
	e.State, e.UpdateTime = state, w.start.Add(time.Second)
	return e
}

func (w *faultWorld) register() { got[ledger.Registered](w)(w.l.Register(w.ctx, w.registration())) }

func (w *faultWorld) succeed() {
	w.register()
	got[ledger.Receipt](w)(w.l.Ingest(w.ctx, w.event("success", operation.Succeeded)))
}

func (w *faultWorld) claim() {
	w.succeed()
	w.claimAgain()
}

func (w *faultWorld) claimAgain() {
	w.Helper()
	grant := got[ledger.Grant](w)(w.l.Claim(w.ctx, key, publish))
	if w.lease = grant.Lease; grant.Verdict != ledger.Claimed {
		w.Fatalf("the claim is %s", grant.Verdict)
	}
}

func (w *faultWorld) die() {
	w.claim()
	w.must(w.l.MarkDead(w.ctx, w.lease, errBroken))
}

// pass begins a pass after d, and finds the operation that is due.
func (w *faultWorld) pass(d time.Duration) {
	w.Helper()
	w.store.Advance(d)
	w.lookups = got[*ledger.Lookups](w)(w.l.BeginLookups(w.ctx, time.Minute))
	found := got[ledger.Page[ledger.DueOperation]](w)(w.l.DueOperations(w.ctx, w.lookups.Start(), ledger.Cursor{}, 10))
	if len(found.Items) > 0 {
		w.operation = found.Items[0]
	}
}

// overtake is another worker that claims the effect of a lease once that has run out.
func (w *faultWorld) overtake() {
	w.store.Advance(w.l.Settings().ClaimTTL + time.Second)
	if w.lease.Effect == "" {
		return
	}
	grant, err := w.l.Claim(w.TB.Context(), w.lease.Operation, w.lease.Effect)
	if err != nil {
		w.Errorf("the next worker's claim: %v", err)
	}
	if grant.Verdict == ledger.Claimed {
		w.rivals = new(w.leased())
	}
}

// leased returns the documents about the lease's effect.
func (w *faultWorld) leased() string {
	snapshot, err := w.store.Get(w.TB.Context(), ledger.EffectPath(w.lease.Operation, w.lease.Effect))
	if err != nil {
		w.Error(err)
		return ""
	}
	return string(snapshot.Documents[0].Token)
}

// documents returns all that is stored, by path. Left out are times, what is chosen at random, and
// the fields in loose.
func (w *faultWorld) documents(raw firestorepb.FirestoreClient, loose ...string) map[string]string {
	w.Helper()
	everything := &firestorepb.RunQueryRequest{
		Parent: "projects/" + w.project + "/databases/(default)/documents",
		QueryType: &firestorepb.RunQueryRequest_StructuredQuery{StructuredQuery: &firestorepb.StructuredQuery{
			From: []*firestorepb.StructuredQuery_CollectionSelector{{AllDescendants: true}},
		}},
	}
	stream, err := raw.RunQuery(w.TB.Context(), everything, grpc.MaxCallRecvMsgSize(1<<26))
	w.must(err)
	documents := map[string]string{}
	for {
		answer, err := stream.Recv()
		if err != nil {
			if err.Error() != "EOF" {
				w.Fatal(err)
			}
			return documents
		}
		doc := answer.GetDocument()
		if doc == nil {
			continue
		}
		for name, value := range doc.GetFields() {
			if slices.Contains(loose, name) || slices.Contains([]string{"writer", "owner"}, name) {
				delete(doc.GetFields(), name)
			}
			plain(value, loose)
		}
		_, where, _ := strings.Cut(doc.GetName(), "/documents/")
		documents[where] = plainText(protojson.Format(&firestorepb.Document{Fields: doc.GetFields()}))
	}
}

// plain removes what is random from the maps in a value.
func plain(value *firestorepb.Value, loose []string) {
	for _, each := range value.GetArrayValue().GetValues() {
		plain(each, loose)
	}
	for name, each := range value.GetMapValue().GetFields() {
		if slices.Contains(loose, name) || slices.Contains([]string{"writer", "pass"}, name) {
			delete(value.GetMapValue().GetFields(), name)
		}
		plain(each, loose)
	}
}

var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(Z|\+00:00)`)
var anyDuration = regexp.MustCompile(`within [0-9.hms]+`)

func plainText(text string) string {
	text = anyDuration.ReplaceAllString(anyTime.ReplaceAllString(text, "TIME"), "within a while")
	return strings.ReplaceAll(text, ":  ", ": ") // protojson varies its spaces
}

// resultText returns a call's result as text, without times.
func resultText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return plainText(string(text))
}

// difference returns the first difference between what is stored and what should be.
func difference(is, want map[string]string) string {
	for path, text := range want {
		if is[path] != text {
			return fmt.Sprintf("%s has %q, and should have %q", path, without(is[path], text), without(text, is[path]))
		}
	}
	for path, text := range is {
		if _, wanted := want[path]; !wanted {
			return fmt.Sprintf("%s should not be there: %s", path, text)
		}
	}
	return ""
}

// without returns the lines of a text that the other one does not have.
func without(text, other string) []string {
	lines := strings.Split(other, "\n")
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return slices.Contains(lines, line) })
}
