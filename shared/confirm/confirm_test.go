package confirm_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

var errStore = errors.New("the store is down")

// issued is a name as Gemini issues them: under the id of another operation it is not that one.
const issued operation.Key = "batches/03e2hck8te3656ezvcti3zjg6vtvlrxhg4et"

// A store counts reads, and fails those and the commits about a collection.
type store struct {
	ledger.Store
	reads          int
	getFails       bool
	commitsFailing string // a collection
}

func (s *store) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	s.reads++
	if s.getFails {
		return ledger.Snapshot{}, errStore
	}
	return s.Store.Get(ctx, paths...)
}

func (s *store) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if s.commitsFailing != "" && strings.HasPrefix(string(writes[0].Path), s.commitsFailing) {
		return nil, errStore
	}
	return s.Store.Commit(ctx, writes...)
}

// hints returns a confirmer over a real ledger, at a Gemini that knows no operation.
func hints(t *testing.T) (*store, *ledger.Ledger, *confirm.Confirmer) {
	t.Helper()
	return hintsAt(t, http.StatusNotFound, `{"error":{"code":404,"message":"not found"}}`)
}

// hintsAt is hints at a Gemini that gives that answer. A second client for it is an error.
func hintsAt(t *testing.T, status int, answer string) (*store, *ledger.Ledger, *confirm.Confirmer) {
	t.Helper()
	now := func() time.Time { return time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC) }
	real, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), now)
	if err != nil {
		t.Fatal(err)
	}
	gemini := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, answer, status)
	}))
	t.Cleanup(func() {
		gemini.Close()
		if err := real.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := lookup.NewClient(lookup.Options{APIKey: "key", BaseURL: gemini.URL, HTTP: gemini.Client()})
	if err != nil {
		t.Fatal(err)
	}
	s := &store{Store: real}
	l, err := ledger.New(s, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clients := 0
	return s, l, confirm.New(confirm.Options{
		Ledger: l, Now: now, Gemini: func(context.Context) (*lookup.Client, error) {
			if clients++; clients > 1 {
				t.Error("a second client was made")
			}
			return client, nil
		},
	})
}

// hint is an unverified delivery about a batch, with a correlation id.
func hint(name operation.Key, correlation, vouched string) confirm.Hint {
	return confirm.Hint{Vouched: vouched, Event: operation.Event{
		Name:       operation.Name{Key: name, Resource: string(name)},
		DeliveryID: "m-1", Source: operation.Webhook, State: operation.Succeeded, CorrelationID: correlation,
	}}
}

// TestHintThatFails: where the ledger cannot be read or written the error is the store's, so that the
// delivery is redelivered [W4, M7].
func TestHintThatFails(t *testing.T) {
	t.Parallel()
	for about, c := range map[string]struct {
		arrange func(s *store, l *ledger.Ledger) error
		hint    confirm.Hint
	}{
		"the operation is not read": {func(s *store, _ *ledger.Ledger) error {
			s.getFails = true
			return nil
		}, hint(issued, "", "")},
		"the name is not kept": {func(s *store, l *ledger.Ledger) error {
			_, err := l.Intents.Intend(t.Context(), ledger.Intention{Submission: operation.Submission{CorrelationID: "c-1"}})
			s.commitsFailing = "intents/"
			return err
		}, hint(issued, "c-1", "c-1")},
		"the other operation is not made due": {func(s *store, l *ledger.Ledger) error {
			err := dispute(t, l)
			s.commitsFailing = "operations/"
			return err
		}, hint(issued, "c-1", "")},
	} {
		t.Run("W4: "+about, func(t *testing.T) {
			t.Parallel()
			s, l, c2 := hints(t)
			if err := c.arrange(s, l); err != nil {
				t.Fatal(err)
			}
			if receipt, err := c2.Confirm(t.Context(), c.hint); !errors.Is(err, errStore) {
				t.Errorf("W4: %+v, %v", receipt, err)
			}
		})
	}
}

// dispute registers an operation with the correlation id c-1.
func dispute(t *testing.T, l *ledger.Ledger) error {
	t.Helper()
	if _, err := l.Intents.Intend(t.Context(), ledger.Intention{
		Submission: operation.Submission{CorrelationID: "c-1"},
	}); err != nil {
		return err
	}
	_, err := l.Operations.Register(t.Context(), ledger.Registration{
		Name: operation.Name{Key: "batches/a", Resource: "batches/a"}, Submission: operation.Submission{CorrelationID: "c-1"},
	})
	return err
}

// replace replaces a document without the ledger; nil deletes it.
func (s *store) replace(t *testing.T, path ledger.Path, data any) {
	t.Helper()
	snapshot, err := s.Store.Get(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	write := ledger.Write{Path: path, Token: snapshot.Documents[0].Token, Data: data}
	if _, err := s.Store.Commit(t.Context(), write); err != nil {
		t.Fatal(err)
	}
}

// TestHintOfAnother: a hint with the id of another operation makes that one due. One that has expired
// meanwhile is no error, and without such an id nothing more is read [M7].
func TestHintOfAnother(t *testing.T) {
	t.Parallel()
	s, l, c := hints(t)
	if err := dispute(t, l); err != nil {
		t.Fatal(err)
	}
	s.replace(t, ledger.OperationPath("batches/a"), nil) // it has expired
	for name, want := range map[operation.Key]struct {
		correlation string
		reads       int
	}{issued: {"c-1", 2}, "batches/c": {"", 1}} {
		s.reads = 0
		receipt, err := c.Confirm(t.Context(), hint(name, want.correlation, ""))
		if err != nil || receipt.Outcome != confirm.Ignored || s.reads != want.reads {
			t.Errorf("M7: %s: %+v, %v, after %d reads, want %d", name, receipt, err, s.reads, want.reads)
		}
	}
}

// TestHintOfANewerOne: the other operation is a newer revision's, which looks it up: no error [L6].
func TestHintOfANewerOne(t *testing.T) {
	t.Parallel()
	s, l, c := hints(t)
	if err := dispute(t, l); err != nil {
		t.Fatal(err)
	}
	newer := operation.Record{Key: "batches/a", Schema: operation.NewestSchema + 1}
	s.replace(t, ledger.OperationPath("batches/a"), newer)
	receipt, err := c.Confirm(t.Context(), hint(issued, "c-1", ""))
	if err != nil || receipt.Outcome != confirm.Ignored {
		t.Errorf("L6: %+v, %v", receipt, err)
	}
}

// TestHintOfAnAbandonedOne: of an operation that no pass looks up, only a reported end is redelivered
// until Gemini shows it [R4].
func TestHintOfAnAbandonedOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		state  operation.State
		status int
		reason string // of the error; "": the hint is ignored
	}{
		{operation.Running, http.StatusNotFound, ""},
		{operation.Succeeded, http.StatusNotFound, confirm.NotYet},
		{operation.Succeeded, http.StatusServiceUnavailable, lookup.Unavailable},
	} {
		_, l, c := hintsAt(t, test.status, `{}`)
		name := operation.Name{Key: issued, Resource: string(issued)}
		if _, err := l.Operations.Register(t.Context(), ledger.Registration{Name: name}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Operations.Abandon(t.Context(), issued, ledger.Decision{Why: "gone"}); err != nil {
			t.Fatal(err)
		}
		said := hint(issued, "", "")
		said.Event.State = test.state
		receipt, err := c.Confirm(t.Context(), said)
		var unconfirmed *confirm.UnconfirmedError
		if errors.As(err, &unconfirmed) != (test.reason != "") || unconfirmed != nil && unconfirmed.Reason != test.reason {
			t.Errorf("R4: %s with %d: %+v, %v", test.state, test.status, receipt, err)
		}
	}
}

// TestHintOfAnUnclearAnswer: an answer without a state binds an intent that the sender vouches for, and
// nothing else; and a name is kept only where Gemini does not know it [M7].
func TestHintOfAnUnclearAnswer(t *testing.T) {
	t.Parallel()
	const odd = `{"name":"` + string(issued) + `","metadata":{"state":"BATCH_STATE_ODD"}}`
	for _, test := range []struct {
		what             string
		status           int
		answer           string
		intended         bool
		vouched          string
		bound, confirmed bool
	}{
		{"vouched for", http.StatusOK, odd, true, "c-1", true, true},
		{"not vouched for", http.StatusOK, odd, true, "", false, false},
		{"no intent", http.StatusOK, odd, false, "c-1", false, false},
		{"Gemini is down", http.StatusServiceUnavailable, `{}`, true, "c-1", false, false},
	} {
		_, l, c := hintsAt(t, test.status, test.answer)
		if test.intended {
			if _, err := l.Intents.Intend(t.Context(), ledger.Intention{
				Submission: operation.Submission{CorrelationID: "c-1"},
			}); err != nil {
				t.Fatal(err)
			}
		}
		receipt, err := c.Confirm(t.Context(), hint(issued, "c-1", test.vouched))
		if (err == nil) != test.confirmed || receipt.Bound != test.bound || receipt.Outcome == confirm.Kept {
			t.Errorf("M7: %s: %+v, %v", test.what, receipt, err)
		}
	}
}

// TestUnconfirmedError: the error says whether Gemini was asked.
func TestUnconfirmedError(t *testing.T) {
	t.Parallel()
	e := &confirm.UnconfirmedError{Operation: "batches/a", Reason: confirm.Busy}
	if got, want := e.Error(), "what the delivery says of batches/a is not confirmed yet (busy)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	e.Reason, e.Err = "timeout", errStore
	if got, want := e.Error(), "Gemini could not confirm what the delivery says of batches/a (timeout)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
