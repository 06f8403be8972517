package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

// odd is a document that no list of the ledger can decode, and every list finds.
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
		err = errors.Join(err, store.Commit(f.t.Context(), ledger.Write{Path: path, Data: data}))
	}
	if err := errors.Join(err, store.Close()); err != nil {
		f.t.Fatal(err)
	}
}

// TestListUnreadable: a document that cannot be read has a row that says so, in every list, and all
// others have theirs; so has what cannot be read of a story [R6].
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
		{[]string{"list", "--intents"}, "CORRELATION ID", "intents/odd"},
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

// TestListDeadAlert: an alert about what is no operation is in the list while it is dead, and is
// run again with all that died.
func TestListDeadAlert(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	effect := f.deadAlert("intents/nightly")
	s := cli(t, nil, "list", "--dead", "--store", f.store()).want(t, exitDone)
	row := regexp.MustCompile(`(?m)^intents/nightly +no record +- .* ` + regexp.QuoteMeta(effect) + ` dead$`)
	if !row.MatchString(s.out) || !strings.Contains(s.out, "\nbatches/a ") {
		t.Errorf("%s", s.out)
	}
	if s := cli(t, nil, "list", "--store", f.store()).want(t, exitDone); strings.Contains(s.out, "intents/nightly") {
		t.Errorf("%s", s.out)
	}
	s = cli(t, nil, "replay", "--dead", "--dry-run", "--store", f.store()).want(t, exitDone)
	if !strings.Contains(s.out, "intents/nightly  "+effect+"  dead") || !strings.Contains(s.out, "batches/a") {
		t.Errorf("%s", s.out)
	}
	cli(t, nil, "abandon", "intents/nightly", "--effect", effect, "--reason", "read", "--store", f.store()).want(t,
		exitDone)
	if s := cli(t, nil, "list", "--dead", "--store", f.store()).want(t, exitDone); strings.Contains(s.out,
		"intents/nightly") {
		t.Errorf("%s", s.out)
	}
}
