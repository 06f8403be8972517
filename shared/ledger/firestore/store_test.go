package firestore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
	"github.com/opledger/opledger/test/harness/meter"
)

// today is a time in the past, within every retention.
var today = time.Now().UTC().Truncate(24 * time.Hour)

func commit(t testing.TB, store ledger.Store, writes ...ledger.Write) {
	t.Helper()
	if _, err := store.Commit(t.Context(), writes...); err != nil {
		t.Fatalf("Commit: %v", err)
	}
}

func get(t testing.TB, store ledger.Store, path ledger.Path) ledger.Document {
	t.Helper()
	snapshot, err := store.Get(t.Context(), path)
	if err != nil {
		t.Fatalf("Get %s: %v", path, err)
	}
	return snapshot.Documents[0]
}

func TestAForeignTokenIsAConflict(t *testing.T) {
	t.Parallel()
	store := opened(t)
	path := ledger.OperationPath("a")
	commit(t, store, ledger.Write{Path: path, Data: fullRecord()})
	for _, w := range []ledger.Write{
		{Path: path, Token: "17", Data: fullRecord()},
		{Path: path, Token: "17"},
		{Path: path}, // delete what must not exist
		{Path: ledger.OperationPath("b")},
	} {
		if _, err := store.Commit(t.Context(), w); !errors.Is(err, ledger.ErrConflict) {
			t.Errorf("%+v: %v, want ErrConflict", w, err)
		}
	}
}

// TestFoundByATime: in a collection that another program shares, a document without a time in the
// queried field is not found, and hides none behind it.
func TestFoundByATime(t *testing.T) {
	t.Parallel()
	store, client := both(t)
	for id, value := range map[string]any{
		"text": "2999-01-01", "number": 7, "bool": true, "null": nil, "map": map[string]any{"at": today},
	} {
		if _, err := client.Doc("operations/"+id).Set(t.Context(), map[string]any{"createdAt": value}); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, store, ledger.Write{Path: ledger.OperationPath("a"), Data: fullRecord()})
	for _, descending := range []bool{false, true} {
		found, err := store.Query(t.Context(), ledger.Query{
			Collection: ledger.OperationsCollection, OrderBy: ledger.FieldCreatedAt, Descending: descending, Limit: 3,
		})
		if err != nil || len(found) != 1 || found[0].Path != "operations/a" || !found[0].At.Equal(fullRecord().CreatedAt) {
			t.Errorf("%+v, %v", found, err)
		}
	}
}

func TestReadTimes(t *testing.T) {
	t.Parallel()
	var m meter.Meter
	store := opened(t, m.Dial()...)
	before := time.Now().Add(-time.Second)
	check := func(what string, at time.Time) {
		t.Helper()
		if at.Before(before) || at.After(time.Now().Add(time.Second)) || !at.Equal(operation.Instant(at)) ||
			at.Location() != time.UTC {
			t.Errorf("%s: read time %v is not about now, in whole microseconds and UTC", what, at)
		}
	}
	none, err := store.Get(t.Context())
	if err != nil || len(none.Documents) != 0 {
		t.Fatalf("Get nothing: %+v, %v", none, err)
	}
	check("Get of nothing", none.ReadTime)
	missing, err := store.Get(t.Context(), ledger.OperationPath("a"), ledger.OperationPath("b"), ledger.OperationPath("a"))
	if err != nil || len(missing.Documents) != 3 || missing.Documents[2].Path != ledger.OperationPath("a") ||
		missing.Documents[2].Exists() {
		t.Fatalf("Get of what is missing: %+v, %v", missing, err)
	}
	check("Get of what is missing", missing.ReadTime)
	if !missing.ReadTime.After(none.ReadTime) {
		t.Errorf("read times do not grow: %v, then %v", none.ReadTime, missing.ReadTime)
	}
	if got := m.Collect(); got.Requests() != 2 || got.Reads != 3 {
		t.Errorf("two Gets of one and two documents cost %+v", got)
	}
	commit(t, store, ledger.Write{Path: ledger.EffectPath("a", "x"), Data: ledger.Effect{DueAt: today}})
	found, err := store.Query(
		t.Context(), ledger.Query{Collection: ledger.EffectsCollection, OrderBy: ledger.FieldDueAt, Limit: 10},
	)
	if err != nil || len(found) != 1 {
		t.Fatalf("Query: %d documents, %v", len(found), err)
	}
	if got := m.Collect(); got.RPCs["RunQuery"] != 1 || got.Requests() != 2 || got.Reads != 1 || got.Writes != 1 {
		t.Errorf("a commit and a page cost %+v", got)
	}
}

func TestNamedDatabasesAreApart(t *testing.T) {
	t.Parallel()
	options := dial.Options(harness.Firestore(t))
	project := harness.ProjectID(t)
	path := ledger.OperationPath("a")
	stores := map[string]*firestore.Store{}
	for _, database := range []string{"", "(default)", "other"} {
		store, err := firestore.Open(t.Context(), project, database, options...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		stores[database] = store
	}
	commit(t, stores["other"], ledger.Write{Path: path, Data: fullRecord()})
	if get(t, stores[""], path).Exists() {
		t.Error("the default database has what was written to another")
	}
	if doc := get(t, stores["other"], path); !doc.Exists() || doc.Path != path {
		t.Errorf("the named database: %+v", doc)
	}
	commit(t, stores[""], ledger.Write{Path: path, Data: fullRecord()})
	if !get(t, stores["(default)"], path).Exists() {
		t.Error("the empty name and (default) are two databases")
	}
}

func TestOpenWithoutAProjectSaysSo(t *testing.T) {
	t.Parallel()
	if _, err := firestore.Open(t.Context(), "", ""); err == nil {
		t.Error("Open without a project succeeded")
	}
}

func TestTheCallersContextEndsAsItself(t *testing.T) {
	t.Parallel()
	store := opened(t)
	cause := errors.New("the caller's reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	path := ledger.OperationPath("a")
	_, getErr := store.Get(ctx, path)
	_, queryErr := store.Query(
		ctx, ledger.Query{Collection: ledger.EffectsCollection, OrderBy: ledger.FieldDueAt, Limit: 1},
	)
	_, commitErr := store.Commit(ctx, ledger.Write{Path: path, Data: fullRecord()})
	for what, err := range map[string]error{"Get": getErr, "Query": queryErr, "Commit": commitErr} {
		if !errors.Is(err, context.Canceled) || errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrConflict) {
			t.Errorf("%s: %v, want context.Canceled alone", what, err)
		}
	}
}
