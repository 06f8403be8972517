package sqlite_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestQueryBesideTheIndexes: a query that none of the ledger's indexes answers is answered all the same.
func TestQueryBesideTheIndexes(t *testing.T) {
	t.Parallel()
	store := open(t, fresh(t))
	defer closed(t, store)
	effect := ledger.Effect{Version: 1, State: ledger.EffectDone, CreatedAt: time.Unix(1, 0)}
	if _, err := store.Commit(t.Context(), ledger.Write{Path: "operations/a/effects/b", Data: effect}); err != nil {
		t.Fatal(err)
	}
	found, err := store.Query(t.Context(), ledger.Query{
		Collection: ledger.EffectsCollection, Where: []ledger.Equal{{Field: "state", Value: string(ledger.EffectDone)}},
		OrderBy: ledger.FieldCreatedAt, Limit: 9,
	})
	if err != nil || len(found) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
}
