package root_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/test/commandtest"
)

// odd is a document that every list of the ledger finds, and none can decode.
type odd struct {
	ID         int       `json:"id"`
	Version    string    `json:"version"`
	DeadEffect bool      `json:"deadEffect"`
	CreatedAt  time.Time `json:"createdAt"`
	DueAt      time.Time `json:"dueAt"`
}

// plant writes odd documents.
func plant(f commandtest.File, paths ...ledger.Path) {
	f.T.Helper()
	store, err := sqlite.Open(f.T.Context(), f.Path, time.Now)
	if err != nil {
		f.T.Fatal(err)
	}
	for _, path := range paths {
		data := odd{1, "x", true, time.Now(), time.Now()}
		_, failed := store.Commit(f.T.Context(), ledger.Write{Path: path, Data: data})
		err = errors.Join(err, failed)
	}
	if err := errors.Join(err, store.Close()); err != nil {
		f.T.Fatal(err)
	}
}

// TestListUnreadable: in every list, and in show, a document that cannot be read has a row of its
// own, and the others are complete [R6].
func TestListUnreadable(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	f.Register("batches/b")
	effect := ledger.EffectPath("batches/a", "odd")
	plant(f, "operations/odd", "intents/odd", "quarantine/odd", effect)
	for _, c := range []struct {
		args []string
		row  string // what is listed beside what is left alone
		odd  ledger.Path
	}{
		{[]string{"list"}, "batches/a", "operations/odd"},
		{[]string{"list", "--dead"}, "batches/a", "operations/odd"},
		{[]string{"list", "--pending"}, "batches/b", "operations/odd"},
		{[]string{"intent", "list"}, "CORRELATION ID", "intents/odd"},
		{[]string{"quarantine", "list"}, "DELIVERY", "quarantine/odd"},
		{[]string{"show", "batches/a"}, "batches/a", effect},
	} {
		s := commandtest.Run(t, nil, append(c.args, "--store", f.Store())...).Want(t, terminal.ExitDone)
		left := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(string(c.odd)) + ` +left alone: .*cannot unmarshal`)
		if !left.MatchString(s.Out) || !strings.Contains(s.Out, c.row) {
			t.Errorf("%v:\n%s", c.args, s.Out)
		}
		var told struct {
			Broken []struct{ Path, Error string } `json:"broken"`
		}
		commandtest.OneObject(t, commandtest.Run(t, nil, append(c.args, "--json", "--store", f.Store())...).Want(t,
			terminal.ExitDone).Out, &told)
		if len(told.Broken) != 1 || told.Broken[0].Path != string(c.odd) || told.Broken[0].Error == "" {
			t.Errorf("%v: %+v", c.args, told)
		}
	}
	s := commandtest.Run(t, nil, "replay", "--dead", "--yes", "--store", f.Store()).Want(t, terminal.ExitDone)
	if !strings.Contains(s.Out, "batches/a  log  done") || !strings.Contains(s.Err,
		"opledger: operations/odd left alone: ") {
		t.Errorf("%s%s", s.Out, s.Err)
	}
}

// TestListPages: --after takes the value of the last page, as text or from JSON, and the pages
// together are the whole list.
func TestListPages(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	var names []string
	for i := range 7 {
		names = append(names, fmt.Sprintf("batches/n%d", i))
	}
	f.Register(names...)
	slices.Reverse(names) // newest first
	for _, order := range []string{"newest", "--pending"} {
		var got []string
		after := ""
		for range 10 {
			args := []string{"list", "--json", "--limit", "3", "--store", f.Store(), "--after", after}
			if order == "--pending" {
				args = append(args, order)
			}
			var page commandtest.Listed
			commandtest.OneObject(t, commandtest.Run(t, nil, args...).Want(t, terminal.ExitDone).Out, &page)
			got = append(got, page.Keys()...)
			if after = page.Next; after == "" {
				break
			}
		}
		if order == "--pending" {
			slices.Reverse(got) // the one submitted first is due first
		}
		if !slices.Equal(got, names) {
			t.Errorf("%s: the pages are %v", order, got)
		}
	}
	first := commandtest.Run(t, nil, "list", "--limit", "3", "--store", f.Store()).Want(t, terminal.ExitDone)
	_, after, found := strings.Cut(first.Out, "more: --after ")
	if !found {
		t.Fatalf("the table does not say how to go on:\n%s", first.Out)
	}
	second := commandtest.Run(t, nil, "list", "--limit", "3", "--store", f.Store(), "--after",
		strings.TrimSpace(after)).Want(t,
		terminal.ExitDone)
	if !strings.Contains(second.Out, "batches/n3 ") || strings.Contains(second.Out, "batches/n4 ") {
		t.Errorf("the second page is\n%s", second.Out)
	}
}
