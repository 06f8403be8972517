package harness_test

import (
	"net"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/ledger/emulator"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/test/harness"
)

// TestRestartFirestore: what a project held is there after the restart as it was, also types that an
// export could change. An emulator that is started has made a commit. It starts two emulators, for what the soak does
// at night: outside of the gate it is left out.
func TestRestartFirestore(t *testing.T) {
	t.Parallel()
	harness.ThoroughOnly(t, "the restart of a Firestore emulator")
	if _, err := emulator.Find(); err != nil {
		harness.Missing(t, err.Error())
	}
	const project = "restarted"
	before, err := emulator.StartFirestore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(before.Stop)
	// An empty array is not: it comes back as none.
	type kept struct {
		At    time.Time
		Large int64
		Text  string
		Map   map[string]bool
	}
	want := kept{
		At: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC), Large: 1<<53 + 1, Text: "ünï\x00",
		Map: map[string]bool{"a.b": true},
	}
	in := func(p *emulator.Process, project string) *firestore.Client {
		client, err := firestore.NewClient(t.Context(), project, dial.Options(p.Addr())...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := client.Close(); err != nil {
				t.Error(err)
			}
		})
		return client
	}
	at := func(p *emulator.Process) *firestore.DocumentRef {
		return in(p, project).Doc("kept/document~with/under/it")
	}
	// Clients wait less for a commit than the first one may take.
	if _, err := in(before, "warmed-up").Doc("warmed/up").Get(t.Context()); err != nil {
		t.Errorf("it has made no commit when it is said to be started: %v", err)
	}
	if _, err := at(before).Set(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	after, err := harness.RestartFirestore(t.Context(), before, project)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(after.Stop)
	stopped := func(p *emulator.Process) {
		if conn, err := net.Dial("tcp", p.Addr()); err == nil {
			t.Errorf("it still listens after it was stopped (%v)", conn.Close())
		}
	}
	stopped(before)
	document, err := at(after).Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got kept
	if err := document.DataTo(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	after.Stop()
	stopped(after)
}
