package ledgertest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/opledger/opledger/shared/ledger"
)

// A kinds is a store that counts its calls by their kind, which is what a store can tell apart of them:
//
//   - a read by its documents' collections, and by whether each exists;
//   - a commit by its documents' collections, by whether it creates, replaces or deletes each, and by how it came out;
//     where it was made, also each field that is set;
//   - a query, or a count, by its collection, conditions, order, bounds and cursor, and by whether it found nothing,
//     something, or as much as it may.
//
// It is safe for concurrent use.
type kinds struct {
	ledger.Store
	mu    sync.Mutex
	calls int
	made  map[string]bool
}

func newKinds(store ledger.Store) *kinds { return &kinds{Store: store, made: map[string]bool{}} }

// add counts one call, which is of all these kinds.
func (k *kinds) add(made ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	for _, kind := range made {
		k.made[kind] = true
	}
}

// of is a set of words as one kind.
func of(call string, words map[string]bool) string {
	return call + " of " + strings.Join(slices.Sorted(maps.Keys(words)), ", ")
}

// ending is what a store could tell apart of how a call came out.
func ending(err error) string {
	switch {
	case err == nil:
		return "done"
	case isConflict(err):
		return "conflict"
	default:
		return "error"
	}
}

func (k *kinds) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	snapshot, err := k.Store.Get(ctx, paths...)
	words := map[string]bool{ending(err): true}
	for _, doc := range snapshot.Documents {
		words[fmt.Sprintf("%s %v", doc.Path.Collection(), doc.Exists())] = true
	}
	k.add(of("get", words))
	return snapshot, err
}

func (k *kinds) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	tokens, err := k.Store.Commit(ctx, writes...)
	words := map[string]bool{ending(err): true}
	var made []string
	for _, w := range writes {
		word := "replace"
		switch {
		case w.Data == nil:
			word = "delete"
		case w.Token == "":
			word = "create"
		}
		words[word+" "+w.Path.Collection()] = true
		if v := reflect.Indirect(reflect.ValueOf(w.Data)); v.Kind() == reflect.Struct && err == nil {
			for _, field := range reflect.VisibleFields(v.Type()) {
				if field.IsExported() && !field.Anonymous && !v.FieldByIndex(field.Index).IsZero() {
					made = append(made, word+" "+w.Path.Collection()+" with "+field.Name)
				}
			}
		}
	}
	k.add(append(made, of("commit", words))...)
	return tokens, err
}

func (k *kinds) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	found, err := k.Store.Query(ctx, q)
	k.add("query " + shape(q) + ": " + much(len(found), q.Limit, err))
	return found, err
}

func (k *kinds) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	n, err := k.Store.Count(ctx, q, ceiling)
	k.add("count " + shape(q) + ": " + much(n, ceiling, err))
	return n, err
}

func much(n, most int, err error) string {
	switch {
	case err != nil:
		return ending(err)
	case n == 0:
		return "nothing"
	case n < most:
		return "some"
	default:
		return "all that it may"
	}
}

// shape is a query without its values.
func shape(q ledger.Query) string {
	where := make([]string, len(q.Where))
	for i, equal := range q.Where {
		where[i] = equal.Field
	}
	return fmt.Sprintf("%s under %q where %q by %s, descending %v, from %v, to %v, after %v", q.Collection,
		q.Under.Collection(), where, q.OrderBy, q.Descending, !q.NotBefore.IsZero(), !q.NotAfter.IsZero(), q.After.Path != "")
}
