package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/operation"
)

// onScreen runs a command line on a terminal of so many columns. wait is called where it pauses.
func onScreen(
	t *testing.T, columns int, wait func(context.Context, time.Duration) error, args ...string,
) said {
	t.Helper()
	var out, err bytes.Buffer
	code := run(t.Context(), args, environment{
		in: strings.NewReader(""), out: &out, err: &err, columns: columns, wait: wait,
	})
	return said{code, out.String(), err.String()}
}

// TestListFitsTheTerminal: no line is wider than the terminal, times are relative, the middle of a
// long name is cut; --wide cuts nothing.
func TestListFitsTheTerminal(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	const id = "batches/0123456789abcdefghijklmnopqrstuvwxyz"
	f.dead(id)
	f.register("operations/b")
	for _, args := range [][]string{{}, {"--pending"}, {"--dead"}} {
		args = append([]string{"list", "--store", f.store()}, args...)
		for _, columns := range []int{80, 120} {
			s := onScreen(t, columns, nil, args...).want(t, exitDone)
			for line := range strings.Lines(s.out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
					t.Errorf("%v: %d columns, want at most %d: %s", args, n, columns, line)
				}
			}
		}
	}
	s := onScreen(t, 60, nil, "list", "--store", f.store()).want(t, exitDone)
	if strings.Contains(s.out, id) || !strings.Contains(s.out, "batc…wxyz ") {
		t.Errorf("%s", s.out)
	}
	onScreen(t, 60, nil, "list", "--dead", "--store", f.store()).want(t, exitDone).says(t, "s ago")
	onScreen(t, 60, nil, "list", "--wide", "--store", f.store()).want(t, exitDone).says(t, id)
}

// TestListWatch: --watch reads the ledger again, in place, until it is interrupted.
func TestListWatch(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	pauses := 0
	s := onScreen(t, 100, func(_ context.Context, how time.Duration) error {
		if pauses++; pauses == 2 {
			return errors.New("interrupted")
		}
		if how != watchEvery {
			t.Errorf("it pauses for %v", how)
		}
		f.settle("batches/a", operation.Succeeded, operation.Result{})
		return nil
	}, "list", "--watch", "--store", f.store()).want(t, exitDone)
	first, second, _ := strings.Cut(strings.TrimPrefix(s.out, "\x1b[H\x1b[2J"), "\x1b[H\x1b[2J")
	if !strings.Contains(first, "PENDING") || !strings.Contains(second, "SUCCEEDED") {
		t.Errorf("%q, then %q", first, second)
	}
}
