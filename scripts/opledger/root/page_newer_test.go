package root_test

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestNewer: every command says plainly what a newer revision wrote, and what to do; lists have all
// else [L6].
func TestNewer(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/record", "batches/effect")
	f.Register("batches/b")
	store, err := sqlite.Open(t.Context(), f.Path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, path := range []ledger.Path{
		ledger.OperationPath("batches/record"), ledger.EffectPath("batches/effect", "log"),
	} {
		ledgertest.Renumber(t, store, path, operation.NewestSchema+1)
	}
	const newer = "a newer revision of opledger wrote it: its schema is 3, and this revision reads 2 at most"
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"list"}, terminal.ExitDone, []string{"left alone: " + newer, "batches/effect", "batches/b"}},
		{[]string{"show", "batches/effect"}, terminal.ExitDone, []string{"left alone: " + newer}},
		{[]string{"show", "batches/record"}, terminal.ExitDone, []string{"left alone: " + newer}},
		{[]string{"replay", "batches/record"}, terminal.ExitUnread, []string{newer + "; use that revision, or a later one"}},
		{[]string{"replay", "batches/effect"}, terminal.ExitFailed,
			[]string{newer, "for what a newer revision of opledger wrote use that one, or a later one"}},
		{[]string{"abandon", "batches/record", "--reason", "test"}, terminal.ExitUnread,
			[]string{newer + "; use that revision"}},
		{[]string{"forget", "batches/record", "--yes"}, terminal.ExitUnread, []string{newer + "; use that revision"}},
	} {
		s := commandtest.Run(t, nil, append(c.args, "--store", f.Store())...).Want(t, c.code)
		for _, want := range c.want {
			if !strings.Contains(s.Out+s.Err, want) {
				t.Errorf("%v: no %q in:\n%s%s", c.args, want, s.Out, s.Err)
			}
		}
	}
}
