package phrase

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Failure is why an effect is dead, without how often it had failed before: the same words for every
// effect that died of the same. At most 200 bytes.
func Failure(e ledger.Effect) string {
	return Safe(diag.Cut(e.Cause(), 200))
}

// A FailureGroup is the effects that died of the same.
type FailureGroup struct {
	Failure string    `json:"error"`
	Count   int       `json:"count"`
	Newest  time.Time `json:"newest,omitzero"` // when the last of them died
	// Contains is what the last error of each contains, byte for byte, for opledger replay --error.
	Contains string `json:"-"`
}

// contained is the beginning of an effect's own error, up to what a command line cannot hold.
func contained(e ledger.Effect) string {
	text := e.Cause()
	end := strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) })
	if end >= 0 {
		text = text[:end]
	}
	const most = 160 // bytes
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// GroupFailures groups dead effects by why they died, the largest group first.
func GroupFailures(effects []ledger.Effect) []FailureGroup {
	groups := map[string]FailureGroup{}
	for _, e := range effects {
		g := groups[Failure(e)]
		g.Failure, g.Contains = Failure(e), contained(e)
		g.Count++
		g.Newest = operation.Later(g.Newest, e.DiedAt)
		groups[g.Failure] = g
	}
	sorted := slices.AppendSeq([]FailureGroup{}, maps.Values(groups))
	slices.SortFunc(sorted, func(a, b FailureGroup) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Failure, b.Failure))
	})
	return sorted
}
