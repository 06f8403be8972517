package root_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestListFitsTheTerminal: no line is wider than the terminal, times are relative, the middle of a
// long name is cut; --wide cuts nothing.
func TestListFitsTheTerminal(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	const id = "batches/0123456789abcdefghijklmnopqrstuvwxyz"
	f.Dead(id)
	f.Register("operations/b")
	for _, args := range [][]string{{}, {"--pending"}, {"--dead"}} {
		args = append([]string{"list", "--store", f.Store()}, args...)
		for _, columns := range []int{80, 120} {
			s := commandtest.OnScreen(t, columns, nil, args...).Want(t, terminal.ExitDone)
			for line := range strings.Lines(s.Out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
					t.Errorf("%v: %d columns, want at most %d: %s", args, n, columns, line)
				}
			}
		}
	}
	s := commandtest.OnScreen(t, 60, nil, "list", "--store", f.Store()).Want(t, terminal.ExitDone)
	if strings.Contains(s.Out, id) || !strings.Contains(s.Out, "batc…wxyz ") {
		t.Errorf("%s", s.Out)
	}
	commandtest.OnScreen(t, 60, nil, "list", "--dead", "--store", f.Store()).Want(t, terminal.ExitDone).Says(t, "s ago")
	commandtest.OnScreen(t, 60, nil, "list", "--wide", "--store", f.Store()).Want(t, terminal.ExitDone).Says(t, id)
}

// TestListWatch: --watch reads the ledger again, in place, until it is interrupted.
func TestListWatch(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	pauses := 0
	s := commandtest.OnScreen(t, 100, func(_ context.Context, how time.Duration) error {
		if pauses++; pauses == 2 {
			return errors.New("interrupted")
		}
		if how != 5*time.Second {
			t.Errorf("it pauses for %v", how)
		}
		f.Settle("batches/a", operation.Succeeded, operation.Result{})
		return nil
	}, "list", "--watch", "--store", f.Store()).Want(t, terminal.ExitDone)
	first, second, _ := strings.Cut(strings.TrimPrefix(s.Out, "\x1b[H\x1b[2J"), "\x1b[H\x1b[2J")
	if !strings.Contains(first, "PENDING") || !strings.Contains(second, "SUCCEEDED") {
		t.Errorf("%q, then %q", first, second)
	}
}
