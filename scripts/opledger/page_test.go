package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
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
func (f file) plant(paths ...ledger.Path) {
	f.t.Helper()
	store, err := sqlite.Open(f.t.Context(), f.path, time.Now)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, path := range paths {
		data := odd{1, "x", true, time.Now(), time.Now()}
		_, failed := store.Commit(f.t.Context(), ledger.Write{Path: path, Data: data})
		err = errors.Join(err, failed)
	}
	if err := errors.Join(err, store.Close()); err != nil {
		f.t.Fatal(err)
	}
}

// TestListUnreadable: in every list, and in show, a document that cannot be read has a row of its
// own, and the others are complete [R6].
func TestListUnreadable(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	f.register("batches/b")
	effect := ledger.EffectPath("batches/a", "odd")
	f.plant("operations/odd", "intents/odd", "quarantine/odd", effect)
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
		s := cli(t, nil, append(c.args, "--store", f.store())...).want(t, exitDone)
		left := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(string(c.odd)) + ` +left alone: .*cannot unmarshal`)
		if !left.MatchString(s.out) || !strings.Contains(s.out, c.row) {
			t.Errorf("%v:\n%s", c.args, s.out)
		}
		var told struct {
			Broken []struct{ Path, Error string } `json:"broken"`
		}
		oneObject(t, cli(t, nil, append(c.args, "--json", "--store", f.store())...).want(t, exitDone).out, &told)
		if len(told.Broken) != 1 || told.Broken[0].Path != string(c.odd) || told.Broken[0].Error == "" {
			t.Errorf("%v: %+v", c.args, told)
		}
	}
	s := cli(t, nil, "replay", "--dead", "--yes", "--store", f.store()).want(t, exitDone)
	if !strings.Contains(s.out, "batches/a  log  done") || !strings.Contains(s.err,
		"opledger: operations/odd left alone: ") {
		t.Errorf("%s%s", s.out, s.err)
	}
}

// TestListPages: --after takes the value of the last page, as text or from JSON, and the pages
// together are the whole list.
func TestListPages(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	var names []string
	for i := range 7 {
		names = append(names, fmt.Sprintf("batches/n%d", i))
	}
	f.register(names...)
	slices.Reverse(names) // newest first
	for _, order := range []string{"newest", "--pending"} {
		var got []string
		after := ""
		for range 10 {
			args := []string{"list", "--json", "--limit", "3", "--store", f.store(), "--after", after}
			if order == "--pending" {
				args = append(args, order)
			}
			var page listed
			oneObject(t, cli(t, nil, args...).want(t, exitDone).out, &page)
			got = append(got, page.keys()...)
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
	first := cli(t, nil, "list", "--limit", "3", "--store", f.store()).want(t, exitDone)
	_, after, found := strings.Cut(first.out, "more: --after ")
	if !found {
		t.Fatalf("the table does not say how to go on:\n%s", first.out)
	}
	second := cli(t, nil, "list", "--limit", "3", "--store", f.store(), "--after", strings.TrimSpace(after)).want(t,
		exitDone)
	if !strings.Contains(second.out, "batches/n3 ") || strings.Contains(second.out, "batches/n4 ") {
		t.Errorf("the second page is\n%s", second.out)
	}
}
