package firestore_test

import (
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
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/ledgertest/calls"
	"github.com/opledger/opledger/test/harness"
)

// A faultWorld is what a call is made on, on an empty project.
type faultWorld struct {
	*calls.World
	project string
	wires   wires
	// rivals is what the documents of a leased effect were after another worker had claimed it.
	rivals *string
}

func newFaultWorld(t testing.TB) *faultWorld {
	t.Helper()
	w := &faultWorld{project: harness.ProjectID(t)}
	w.World = calls.New(t, w.open(t))
	return w
}

// beside returns the world over a connection of its own.
func (w *faultWorld) beside(t testing.TB) *faultWorld {
	t.Helper()
	other := &faultWorld{project: w.project}
	other.World = calls.New(t, other.open(t))
	other.Start = w.Start
	return other
}

// open opens the world's project over its own wires.
func (w *faultWorld) open(t testing.TB) *firestore.Store {
	t.Helper()
	store, err := firestore.Open(t.Context(), w.project, "",
		dial.Options(harness.Firestore(t), w.wires.options()...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// overtake is another worker that claims the effect of a lease once that has run out.
func (w *faultWorld) overtake() {
	w.Store.Advance(w.Ledger.Settings().ClaimTTL + time.Second)
	if w.Lease.Effect == "" {
		return
	}
	grant, err := w.Ledger.Effects.Claim(w.Context(), w.Lease.Operation, w.Lease.Effect)
	if err != nil {
		w.Errorf("the next worker's claim: %v", err)
	}
	if grant.Verdict == ledger.Claimed {
		w.rivals = new(w.leased())
	}
}

// leased returns the documents about the lease's effect.
func (w *faultWorld) leased() string {
	snapshot, err := w.Store.Get(w.Context(), ledger.EffectPath(w.Lease.Operation, w.Lease.Effect))
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
	stream, err := raw.RunQuery(w.Context(), everything, grpc.MaxCallRecvMsgSize(1<<26))
	if err != nil {
		w.Fatal(err)
	}
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
			if slices.Contains(loose, name) || slices.Contains([]string{"writer", "owner", "incarnation"}, name) {
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
var anyAfter = regexp.MustCompile(`"After":\d+`) // of a receipt, between two times of the store

func plainText(text string) string {
	text = anyDuration.ReplaceAllString(anyTime.ReplaceAllString(text, "TIME"), "within a while")
	text = anyAfter.ReplaceAllString(text, `"After":"a while"`)
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
