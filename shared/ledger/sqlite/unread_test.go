package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest/calls"
)

var (
	errUnread  = errors.New("the documents cannot be read")
	errDamaged = errors.New("the document is damaged")
	errRefused = errors.New("the commit is refused")
)

// TestEveryCallThatCannotRead: each read of each call of the ledger fails once, with an error that no
// retry helps, and each document that it decodes is damaged once. The call says so, and commits nothing
// afterwards: nothing is decided on what was not read [W3]. Nor does a call hide that its commit failed.
// At first the call loses a race and its next commit is refused, so that it reads twice and changes
// nothing; then it goes on to its end.
func TestEveryCallThatCannotRead(t *testing.T) {
	t.Parallel()
	populated := open(t, fresh(t))
	t.Cleanup(func() { closed(t, populated) })
	calls.Populate(calls.New(t, populated))
	for _, call := range calls.All() {
		t.Run(call.Name, func(t *testing.T) {
			t.Parallel()
			store := &unreadable{Store: populated, reads: never, documents: never}
			w := calls.New(t, store)
			if !call.Reads {
				own := open(t, fresh(t))
				defer closed(t, own)
				store.Store = own
				call.Arrange(w)
			}
			store.arm(never, never, []error{errRefused})
			value, err := call.Act(w)
			store.judge(t, value, err, call.Spares)
			for _, commits := range [][]error{{ledger.ErrConflict, errRefused}, nil} {
				for i, met := 0, true; met; i++ {
					store.arm(i, never, commits)
					value, err := call.Act(w)
					met = store.judge(t, value, err, call.Spares)
					store.arm(never, i, commits)
					value, err = call.Act(w)
					met = store.judge(t, value, err, call.Spares) || met
				}
			}
		})
	}
}

// TestEveryCallIsThere: no method of the ledger that asks the store is without a row.
func TestEveryCallIsThere(t *testing.T) {
	t.Parallel()
	without := []string{ // they ask nothing
		"Settings", "Reading", "Items.Backoff", "Intents.GiveUpAnyway", "Passes.StuckAlertDue", "Passes.Steady",
		"Lookups.Conclude", "Lookups.Leapt", "Lookups.SawWebhook", "Lookups.Start", "Lookups.WebhookEnabledAt",
		"Lookups.KnewSecret", "Lookups.ScanFrom", "Lookups.Scanned",
	}
	rows := map[string]bool{}
	for _, call := range calls.All() {
		method, _, _ := strings.Cut(call.Name, "/")
		rows[method] = true
	}
	called := func(of reflect.Type, prefix string) {
		for i := range of.NumMethod() {
			if name := prefix + of.Method(i).Name; !rows[name] && !slices.Contains(without, name) {
				t.Errorf("calls.All has no row for %s", name)
			}
		}
	}
	called(reflect.TypeFor[*ledger.Ledger](), "")
	called(reflect.TypeFor[*ledger.Lookups](), "Lookups.")
	for _, noun := range reflect.VisibleFields(reflect.TypeFor[ledger.Ledger]()) {
		if noun.IsExported() {
			called(noun.Type, noun.Name+".")
		}
	}
}

// An unreadable is a store of which one read, or one document, fails. Only documents that the ledger
// decodes count.
type unreadable struct {
	ledger.Store
	reads, documents int         // how many are left before it
	failed           bool        // the read has failed
	damaged          ledger.Path // the document, once it was decoded
	commits          []error     // the answers to the next commits, which are not made
	refused          bool        // one of them was given
	after            []ledger.Path
}

const never = 1 << 20

// arm makes the read or the document after so many unreadable, and the next commits fail.
func (s *unreadable) arm(reads, documents int, commits []error) {
	*s = unreadable{Store: s.Store, reads: reads, documents: documents, commits: commits}
}

// judge checks what a call returned, and reports whether it met what is unreadable. A document of the
// collection spares may be left alone.
func (s *unreadable) judge(t *testing.T, value any, err error, spares string) (met bool) {
	t.Helper()
	switch {
	case s.failed && !errors.Is(err, errUnread):
		t.Errorf("a read failed, and the call returned %v", err)
	case spares != "" && s.damaged.Collection() == spares && !slices.Contains(s.after, s.damaged):
		return true
	case s.damaged != "" && !strings.Contains(fmt.Sprintf("%+v %v", value, err), errDamaged.Error()):
		t.Errorf("%s is damaged, and the call returned %+v, %v", s.damaged, value, err)
	case !s.failed && s.damaged == "" && s.refused && err == nil:
		t.Error("a commit was refused, and the call returned no error")
	}
	if len(s.after) > 0 {
		t.Errorf("after what could not be read %q were written", s.after)
	}
	return s.failed || s.damaged != ""
}

func (s *unreadable) unread() error {
	if s.reads--; s.reads != -1 {
		return nil
	}
	s.failed = true
	return errUnread
}

// of returns the document, which cannot be decoded where it is the one.
func (s *unreadable) of(d ledger.Document) ledger.Document {
	counted := false
	damageable := ledger.NewDocument(d.Path, d.Token, func(into any) error {
		if !counted {
			counted = true
			if s.documents--; s.documents == -1 {
				s.damaged = d.Path
			}
		}
		if s.damaged == d.Path {
			return errDamaged
		}
		return d.Decode(into)
	})
	damageable.At = d.At
	return damageable
}

func (s *unreadable) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	if err := s.unread(); err != nil {
		return ledger.Snapshot{}, err
	}
	snapshot, err := s.Store.Get(ctx, paths...)
	for i, d := range snapshot.Documents {
		snapshot.Documents[i] = s.of(d)
	}
	return snapshot, err
}

func (s *unreadable) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	if err := s.unread(); err != nil {
		return nil, err
	}
	found, err := s.Store.Query(ctx, q)
	for i, d := range found {
		found[i] = s.of(d)
	}
	return found, err
}

func (s *unreadable) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	if err := s.unread(); err != nil {
		return 0, err
	}
	return s.Store.Count(ctx, q, ceiling)
}

func (s *unreadable) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if s.failed || s.damaged != "" {
		for _, w := range writes {
			s.after = append(s.after, w.Path)
		}
	}
	if len(s.commits) > 0 {
		err := s.commits[0]
		s.commits, s.refused = s.commits[1:], true
		return nil, err
	}
	return s.Store.Commit(ctx, writes...)
}
