package firestore_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	cloud "cloud.google.com/go/firestore"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.AtOnce(12) // they wait for the emulator, and for pauses after injected faults
	harness.SpendMemory()
	code := harness.Main(m)
	var ignored []goleak.Option
	if theClientsOwn != nil {
		ignored = append(ignored, theClientsOwn)
	}
	err := goleak.Find(ignored...)
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// open returns a store in an empty project on the emulator. The caller closes it.
func open(t testing.TB, more ...grpc.DialOption) *firestore.Store {
	t.Helper()
	return openIn(t, harness.ProjectID(t), more...)
}

func openIn(t testing.TB, project string, more ...grpc.DialOption) *firestore.Store {
	t.Helper()
	store, err := firestore.Open(t.Context(), project, "", dial.Options(harness.Firestore(t), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// both returns a store, and a client of the official client library in the same empty project. The
// test's end closes them.
func both(t testing.TB, more ...grpc.DialOption) (*firestore.Store, *cloud.Client) {
	t.Helper()
	project := harness.ProjectID(t)
	store := openIn(t, project, more...)
	client, err := cloud.NewClient(t.Context(), project, dial.Options(harness.Firestore(t), more...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return store, client
}

// opened is open for tests that leave the closing to it.
func opened(t testing.TB, more ...grpc.DialOption) *firestore.Store {
	t.Helper()
	store := open(t, more...)
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}
