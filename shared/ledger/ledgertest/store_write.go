package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A note is a document of the store tests.
type note struct {
	Text       string            `json:"text,omitempty" firestore:"text,omitempty"`
	Count      int64             `json:"count" firestore:"count"`
	State      string            `json:"state,omitempty" firestore:"state,omitempty"`
	Registered bool              `json:"registered" firestore:"registered"`
	Body       []byte            `json:"body,omitempty" firestore:"body,omitempty"`
	Words      map[string]string `json:"words,omitempty" firestore:"words,omitempty"`
	CreatedAt  time.Time         `json:"createdAt,omitzero" firestore:"createdAt,omitempty"`
	DueAt      time.Time         `json:"dueAt,omitzero" firestore:"dueAt,omitempty"`
	SettledAt  time.Time         `json:"settledAt,omitzero" firestore:"settledAt,omitempty"`
}

// A desk is a store with the helpers of the store tests.
type desk struct {
	*testing.T
	store ledger.Store
}

func (d desk) get(path ledger.Path) ledger.Document {
	d.Helper()
	snapshot, err := d.store.Get(d.Context(), path)
	if err != nil {
		d.Fatalf("Get %s: %v", path, err)
	}
	return snapshot.Documents[0]
}

func (d desk) read(path ledger.Path) note {
	d.Helper()
	var n note
	if err := d.get(path).Decode(&n); err != nil {
		d.Fatalf("decoding %s: %v", path, err)
	}
	return n
}

func (d desk) commit(writes ...ledger.Write) {
	d.Helper()
	if _, err := d.store.Commit(d.Context(), writes...); err != nil {
		d.Fatalf("Commit: %v", err)
	}
}

// put creates a document and returns it as it is read.
func (d desk) put(path ledger.Path, n note) ledger.Document {
	d.Helper()
	d.commit(ledger.Write{Path: path, Data: n})
	return d.get(path)
}

func (d desk) wantConflict(writes ...ledger.Write) {
	d.Helper()
	_, err := d.store.Commit(d.Context(), writes...)
	if !errors.Is(err, ledger.ErrConflict) || errors.Is(err, ledger.ErrUnavailable) {
		d.Errorf("Commit: %v, want ErrConflict alone", err)
	}
}

// onDesk returns a store test that calls run.
func onDesk(name string, run func(d desk)) storeTest {
	return storeTest{name, func(t *testing.T, store ledger.Store) { run(desk{t, store}) }}
}

// Paths of the store tests.
var (
	pathA = ledger.OperationPath("batches/a")
	pathB = ledger.OperationPath("batches/b")
	pathC = ledger.OperationPath("batches/c")
)

var writeTests = []storeTest{
	onDesk("a write is read back", func(d desk) {
		created := d.put(pathA, note{Text: "one", Count: 1})
		if !created.Exists() || created.Path != pathA {
			d.Fatalf("after the commit: %+v", created)
		}
		d.commit(ledger.Write{Path: pathA, Token: created.Token, Data: note{Text: "two", Count: 2}})
		if n := d.read(pathA); n.Text != "two" || n.Count != 2 {
			d.Errorf("after the update: %+v", n)
		}
		d.commit(ledger.Write{Path: pathA, Token: d.get(pathA).Token})
		if d.get(pathA).Exists() {
			d.Error("it is still there after it was deleted")
		}
	}),
	onDesk("every write changes the token [M6]", func(d desk) {
		seen := map[ledger.Token]bool{}
		token := ledger.Token("")
		for i := range 5 {
			d.commit(ledger.Write{Path: pathA, Token: token, Data: note{Count: int64(i)}})
			if token = d.get(pathA).Token; token == "" || seen[token] {
				d.Fatalf("write %d left token %q, which is not a new one", i, token)
			}
			seen[token] = true
		}
	}),
	onDesk("a write that changes nothing changes the token, too [M6]", func(d desk) {
		old := d.put(pathA, note{Text: "same"})
		d.commit(ledger.Write{Path: pathA, Token: old.Token, Data: note{Text: "same"}})
		if d.get(pathA).Token == old.Token {
			d.Fatal("the token is the same")
		}
		d.wantConflict(ledger.Write{Path: pathA, Token: old.Token, Data: note{Text: "late"}})
	}),
	onDesk("a commit returns the tokens that it made [M6]", func(d desk) {
		for i, write := range []ledger.Write{ // create, replace twice, delete, create again
			{Path: pathA, Data: note{Text: "one"}},
			{Path: pathA, Data: note{Text: "two"}},
			{Path: pathA, Data: note{Text: "two"}},
			{Path: pathA},
			{Path: pathA, Data: note{Text: "two"}},
		} {
			write.Token = d.get(pathA).Token
			other := ledger.Write{Path: pathB, Token: d.get(pathB).Token, Data: note{Count: int64(i)}}
			tokens, err := d.store.Commit(d.Context(), write, other)
			if err != nil || len(tokens) != 2 {
				d.Fatalf("write %d: tokens %q, %v", i, tokens, err)
			}
			if a, b := d.get(pathA).Token, d.get(pathB).Token; tokens[0] != a || tokens[1] != b {
				d.Errorf("write %d: tokens %q, and the documents have %q and %q", i, tokens, a, b)
			}
		}
	}),
	onDesk("a read does not change the token", func(d desk) {
		token := d.put(pathA, note{}).Token
		if again := d.get(pathA).Token; again != token {
			d.Errorf("token %q became %q by reading", token, again)
		}
	}),
	onDesk("a token from before delete-and-recreate is refused", func(d desk) {
		old := d.put(pathA, note{Text: "old"})
		d.commit(ledger.Write{Path: pathA, Token: old.Token})
		d.put(pathA, note{Text: "old"})
		d.wantConflict(ledger.Write{Path: pathA, Token: old.Token, Data: note{Text: "late"}})
		d.wantConflict(ledger.Write{Path: pathA, Token: old.Token})
		if n := d.read(pathA); n.Text != "old" {
			d.Errorf("the refused write changed it: %+v", n)
		}
	}),
	onDesk("create over existing", func(d desk) {
		d.put(pathA, note{Text: "first"})
		d.wantConflict(ledger.Write{Path: pathA, Data: note{Text: "second"}})
		if n := d.read(pathA); n.Text != "first" {
			d.Errorf("the refused write changed it: %+v", n)
		}
	}),
	onDesk("update of changed", func(d desk) {
		old := d.put(pathA, note{Text: "first"})
		d.commit(ledger.Write{Path: pathA, Token: old.Token, Data: note{Text: "second"}})
		d.wantConflict(ledger.Write{Path: pathA, Token: old.Token, Data: note{Text: "third"}})
		if n := d.read(pathA); n.Text != "second" {
			d.Errorf("the refused write changed it: %+v", n)
		}
	}),
	onDesk("update of missing", func(d desk) {
		gone := d.put(pathA, note{})
		d.commit(ledger.Write{Path: pathA, Token: gone.Token})
		d.wantConflict(ledger.Write{Path: pathA, Token: gone.Token, Data: note{}})
		if d.get(pathA).Exists() {
			d.Error("an update made the document")
		}
	}),
	onDesk("delete of missing and of changed", func(d desk) {
		d.wantConflict(ledger.Write{Path: pathA})
		old := d.put(pathA, note{})
		d.wantConflict(ledger.Write{Path: pathA}) // its token means that it does not exist
		d.commit(ledger.Write{Path: pathA, Token: old.Token, Data: note{Count: 1}})
		d.wantConflict(ledger.Write{Path: pathA, Token: old.Token})
		if !d.get(pathA).Exists() {
			d.Error("a refused delete deleted it")
		}
	}),
	onDesk("all or nothing", allOrNothing),
	onDesk("one of many writers wins [M6]", oneWriterWins),
	onDesk("children do without their parent", func(d desk) {
		child := pathA.Child(ledger.EffectsCollection, "publish")
		d.put(child, note{Text: "child"})
		if d.get(pathA).Exists() {
			d.Error("writing a child made its parent")
		}
		parent := d.put(pathA, note{})
		d.commit(ledger.Write{Path: pathA, Token: parent.Token})
		if n := d.read(child); n.Text != "child" {
			d.Error("deleting the parent took the child away")
		}
	}),
}

// allOrNothing commits batches in which one write's precondition does not hold, at each place, and
// finds nothing written.
func allOrNothing(d desk) {
	a := d.put(pathA, note{Text: "a"})
	stale := a.Token
	d.commit(ledger.Write{Path: pathA, Token: a.Token, Data: note{Text: "a", Count: 1}})
	a = d.get(pathA)
	c := d.put(pathC, note{Text: "c"})

	bad := map[string]ledger.Write{
		"create over existing": {Path: pathA, Data: note{Text: "bad"}},
		"update of changed":    {Path: pathA, Token: stale, Data: note{Text: "bad"}},
		"delete of changed":    {Path: pathA, Token: stale},
	}
	good := []ledger.Write{
		{Path: pathB, Data: note{Text: "new"}},
		{Path: pathB.Child(ledger.EffectsCollection, "publish"), Data: note{Text: "new"}},
		{Path: pathC, Token: c.Token},
	}
	for name, write := range bad {
		for place := range len(good) + 1 {
			batch := append(append(append([]ledger.Write{}, good[:place]...), write), good[place:]...)
			if _, err := d.store.Commit(d.Context(), batch...); !errors.Is(err, ledger.ErrConflict) {
				d.Errorf("%s at place %d: %v, want ErrConflict", name, place, err)
			}
			if d.get(pathB).Exists() || d.get(good[1].Path).Exists() || d.get(pathC).Token != c.Token ||
				d.get(pathA).Token != a.Token {
				d.Fatalf("%s at place %d: part of the batch was written", name, place)
			}
		}
	}
	d.commit(good...)
	if !d.get(pathB).Exists() || !d.get(good[1].Path).Exists() || d.get(pathC).Exists() {
		d.Error("the batch without the bad write was not written whole")
	}
}

// oneWriterWins lets many writers commit on one token concurrently.
func oneWriterWins(d desk) {
	const writers = 16
	first := d.put(pathA, note{})
	errs := make([]error, writers)
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			_, errs[i] = d.store.Commit(
				d.Context(),
				ledger.Write{Path: pathA, Token: first.Token, Data: note{Text: fmt.Sprint(i)}},
				ledger.Write{
					Path: pathA.Child(ledger.DeliveriesCollection, fmt.Sprint(i)), Data: note{Text: strings.Repeat("x", i)},
				},
			)
		})
	}
	group.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner >= 0:
			d.Errorf("writers %d and %d both won", winner, i)
		case err == nil:
			winner = i
		case !errors.Is(err, ledger.ErrConflict):
			d.Errorf("writer %d: %v, want ErrConflict", i, err)
		}
	}
	if winner < 0 {
		d.Fatal("no writer won")
	}
	if n := d.read(pathA); n.Text != fmt.Sprint(winner) {
		d.Errorf("writer %d won and %q is written", winner, n.Text)
	}
	for i := range writers {
		if d.get(pathA.Child(ledger.DeliveriesCollection, fmt.Sprint(i))).Exists() != (i == winner) {
			d.Errorf("writer %d of winner %d: the rest of its batch is not as it should be", i, winner)
		}
	}
}
