package ledgertest

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A DeadEntries is a store that keeps the index entries of dueAt which documents had before, as Firestore
// does for hours. It counts those that queries pass. It is safe for concurrent use, except for
// concurrent commits of one document.
type DeadEntries struct {
	ledger.Store
	mu     sync.Mutex
	due    map[ledger.Path]time.Time
	dead   map[string][]time.Time // by collection
	passed int
}

// KeepDead returns store with the entries of what is committed through it.
func KeepDead(store ledger.Store) *DeadEntries {
	return &DeadEntries{Store: store, due: map[ledger.Path]time.Time{}, dead: map[string][]time.Time{}}
}

// Commit is the store's Commit.
func (s *DeadEntries) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	tokens, err := s.Store.Commit(ctx, writes...)
	if err != nil {
		return tokens, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range writes {
		var due time.Time
		if w.Data != nil {
			if field := reflect.ValueOf(w.Data).FieldByName("DueAt"); field.IsValid() {
				due, _ = field.Interface().(time.Time)
			}
		}
		if before := s.due[w.Path]; !before.IsZero() && !before.Equal(due) {
			s.dead[w.Path.Collection()] = append(s.dead[w.Path.Collection()], before)
		}
		s.due[w.Path] = due
	}
	return tokens, nil
}

// Query is the store's Query. Between where it begins and its last document it passes the entries.
func (s *DeadEntries) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	found, err := s.Store.Query(ctx, q)
	if err != nil || q.OrderBy != ledger.FieldDueAt || q.Descending {
		return found, err
	}
	from, to := q.NotBefore, q.NotAfter
	if q.After.Path != "" {
		from = q.After.At
	}
	if len(found) == q.Limit {
		to = found[len(found)-1].At
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.dead[q.Collection] {
		if !at.Before(from) && (to.IsZero() || !at.After(to)) {
			s.passed++
		}
	}
	return found, nil
}

// Passed returns how many entries queries have passed since the last call.
func (s *DeadEntries) Passed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	passed := s.passed
	s.passed = 0
	return passed
}
