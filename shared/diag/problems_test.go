package diag_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/opledger/opledger/shared/diag"
)

// TestLines: one problem is one line. Several are a line each under one that counts them. Nothing
// is printed twice, and nothing can control the terminal.
func TestLines(t *testing.T) {
	t.Parallel()
	one := errors.New("GRACEE: there is no such setting")
	two := errors.Join(errors.New("GRACE: not a duration"), errors.New("MAX: not a number"))
	for _, c := range []struct {
		err  error
		want string
	}{
		{one, "opledger: GRACEE: there is no such setting\n"},
		{errors.Join(two, one, one), "opledger: 3 problems, and nothing was done:\n" +
			"  GRACE: not a duration\n  MAX: not a number\n  GRACEE: there is no such setting\n"},
		{errors.Join(one, several(7)), "opledger: 8 problems, and nothing was done:\n" +
			"  GRACEE: there is no such setting\n  7 more\n"},
		{fmt.Errorf("a\nb\x1b[2J: %w", two), "opledger: a; b\\x1b[2J: GRACE: not a duration; MAX: not a number\n"},
	} {
		if got := diag.Lines("opledger", c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// several is an error that stands for so many problems.
type several int64

func (n several) Error() string { return fmt.Sprintf("%d more", int64(n)) }

func (n several) Problems() int64 { return int64(n) }
