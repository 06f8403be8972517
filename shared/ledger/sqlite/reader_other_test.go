//go:build !linux

package sqlite

import "testing"

// asReader calls do. Root may write everywhere, and the test then shows less.
func asReader(t *testing.T, do func()) {
	t.Helper()
	do()
}
