package firestore_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	cloud "cloud.google.com/go/firestore"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// fullRecord has every field set.
func fullRecord() operation.Record {
	return operation.Record{
		Schema: 1, Version: 7, Key: "batches/a", Collection: operation.Batches, Name: "batches/a",
		Submission: operation.Submission{JobKind: "kind", CorrelationID: "id", Metadata: `{"__a__":{"b/c":1}}`},
		State:      operation.Succeeded, UpdateTime: today, Registered: true, CreatedAt: today, SubmittedAt: today,
		SettledAt: today, SettledBy: operation.Webhook, LookUps: 3, StuckSince: today, AlertedAt: today,
		Condition: "not-found", ConditionSince: today, MissingSince: today, MissingAlertedAt: today,
		Abandoned: &operation.Decided{At: today, By: "ops", Why: "lost"}, DueAt: today, ExpireAt: today,
		Result: operation.Result{
			OutputFile: "files/x", Inline: true, ErrorCode: "1", ErrorMessage: "m",
			Counts: &operation.Counts{Total: 3, Succeeded: 2, Failed: 1},
		}, Effects: map[string]operation.EffectStatus{"publish": operation.EffectDone},
	}
}

// TestFieldsInTheConsole reads documents with Google's own client, as the console does [G4].
func TestFieldsInTheConsole(t *testing.T) {
	t.Parallel()
	store, client := both(t)
	path := ledger.OperationPath("batches/a")
	raw := func() map[string]any {
		t.Helper()
		snapshot, err := client.Doc("operations/batches:a").Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return snapshot.Data()
	}
	commit(t, store, ledger.Write{Path: path, Data: fullRecord()})
	full := raw()
	if got, ok := full["result"].(map[string]any); !ok || got["outputFile"] != "files/x" {
		t.Errorf("result is %v", full["result"])
	}
	if got, ok := full["effects"].(map[string]any); !ok || got["publish"] != "done" {
		t.Errorf("effects is %v", full["effects"])
	}
	if full["metadata"] != `{"__a__":{"b/c":1}}` {
		t.Errorf("metadata is %v, want the JSON text", full["metadata"])
	}
	if at, ok := full["dueAt"].(time.Time); !ok || !at.Equal(today) {
		t.Errorf("dueAt is %v", full["dueAt"])
	}

	// A field of a newer revision survives a write by this one; fields that this one leaves
	// out do not.
	later := []cloud.Update{{Path: "later", Value: "kept"}}
	if _, err := client.Doc("operations/batches:a").Update(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	commit(
		t, store, ledger.Write{Path: path, Token: get(t, store, path).Token, Data: operation.Record{Schema: 1, Version: 8}},
	)
	want := []string{"attempts", "createdAt", "key", "later", "name", "registered", "schema", "state", "version"}
	if got := slices.Sorted(maps.Keys(raw())); !slices.Equal(got, want) {
		t.Errorf("fields after the update: %q, want %q", got, want)
	}
	// The same fields, whether a document was updated to a content or created with it.
	created := ledger.OperationPath("batches/b")
	commit(t, store, ledger.Write{Path: created, Data: operation.Record{Schema: 1, Version: 8}})
	snapshot, err := client.Doc("operations/batches:b").Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want = slices.DeleteFunc(want, func(name string) bool { return name == "later" })
	if got := slices.Sorted(maps.Keys(snapshot.Data())); !slices.Equal(got, want) {
		t.Errorf("fields after the create: %q, want %q", got, want)
	}
}

func TestNothingIsNull(t *testing.T) {
	t.Parallel()
	store, client := both(t)
	type document struct {
		Map     map[string]string  `firestore:"map"`
		Slice   []string           `firestore:"slice"`
		Body    []byte             `firestore:"body"`
		Counts  *operation.Counts  `firestore:"counts"`
		Empty   []string           `firestore:"empty,omitempty"`
		Zero    operation.Result   `firestore:"zero,omitempty"`
		Nested  operation.Result   `firestore:"nested,omitempty"`
		Ignored string             `firestore:"-"`
		Named   map[string]fault   `firestore:"named"`
		Plain   operation.Metadata // no tag: its own name
		None    []string           `firestore:"none"` // empty, and stored so
		hidden  int                // not exported
	}
	content := document{
		Empty: []string{}, Nested: operation.Result{Inline: true}, Ignored: "x",
		Named: map[string]fault{"a": abort}, Plain: "{}", None: []string{}, hidden: 1,
	}
	path := ledger.OperationPath("a")
	commit(t, store, ledger.Write{Path: path, Data: content})
	check := func(when string) {
		snapshot, err := client.Doc(string(path)).Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fields := snapshot.Data()
		delete(fields, "_revision") // the store's own
		want := []string{"Plain", "named", "nested", "none"}
		if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
			t.Errorf("%s: fields %q, want %q", when, got, want)
		}
		if got, ok := snapshot.Data()["nested"].(map[string]any); !ok || len(got) != 1 {
			t.Errorf("%s: nested is %v, want only inline", when, snapshot.Data()["nested"])
		}
	}
	check("created")
	full := document{
		Map: map[string]string{"a": "b"}, Slice: []string{"a"}, Body: []byte("a"), Zero: operation.Result{Inline: true},
		Plain: "full", hidden: 2,
	}
	commit(t, store, ledger.Write{Path: path, Token: get(t, store, path).Token, Data: full})
	commit(t, store, ledger.Write{Path: path, Token: get(t, store, path).Token, Data: &content})
	check("updated")
}

func TestWhatHasNoFormIsInvalid(t *testing.T) {
	t.Parallel()
	store := opened(t)
	type embedding struct{ *operation.Result }
	for name, data := range map[string]any{
		"no struct": map[string]any{"a": 1},
		"embedding": embedding{},
		"a function": struct {
			F func() `firestore:"f"`
		}{func() {}},
		"bytes that Firestore would refuse for load": struct {
			B []byte `firestore:"b"`
		}{make([]byte, 20<<20)},
		"a request larger than one may be": struct {
			S string `firestore:"s"`
		}{strings.Repeat("x", 20<<20)},
		"too large a number": struct {
			N uint64 `firestore:"n"`
		}{1},
		"an option that is not known": struct {
			T time.Time `firestore:"t,serverTimestamp"`
		}{},
	} {
		_, err := store.Commit(t.Context(), ledger.Write{Path: ledger.OperationPath("a"), Data: data})
		if !errors.Is(err, ledger.ErrInvalid) || errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrConflict) {
			t.Errorf("%s: %v, want ErrInvalid alone", name, err)
		}
	}
	for _, path := range []ledger.Path{"", "operations", "operations/", "operations/a/effects", "/operations/a"} {
		if _, err := store.Commit(t.Context(), ledger.Write{Path: path, Data: fullRecord()}); !errors.Is(
			err, ledger.ErrInvalid,
		) {
			t.Errorf("Commit %q: %v, want ErrInvalid", path, err)
		}
		if _, err := store.Get(t.Context(), path); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("Get %q: %v, want ErrInvalid", path, err)
		}
	}
	// Firestore's answer repeats the id, which must not be read as a part of its message.
	_, err := store.Commit(t.Context(), ledger.Write{Path: "operations/__transaction__", Data: fullRecord()})
	if !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("a reserved id: %v, want ErrInvalid", err)
	}
	if _, err := store.Query(t.Context(), ledger.Query{Collection: "effects", OrderBy: ledger.FieldDueAt}); !errors.Is(
		err, ledger.ErrInvalid,
	) {
		t.Errorf("a query without a limit: %v, want ErrInvalid", err)
	}
}
