package diag

import (
	"regexp"
	"sync"
)

// Pattern returns the regular expression of a text, which is compiled at the first call. Compiled as
// package variables, those of a function would be a twentieth of its start, and most starts need
// none.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
