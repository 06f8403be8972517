package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// TestRanges holds a set of ranges against a plain set, through random changes.
func TestRanges(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	const most = 40
	var r ledger.Ranges
	plain := map[int64]bool{}
	for step := range 5000 {
		index := random.Int64N(most)
		before, text := slices.Clone(r), fmt.Sprint(r)
		changed := r.With(index)
		if plain[index] = random.IntN(2) == 0; !plain[index] {
			changed = r.Without(index)
			delete(plain, index)
		}
		if fmt.Sprint(r) != text || !slices.Equal(r, before) {
			t.Fatalf("step %d changed the set itself: %v, want %v", step, r, before)
		}
		r = changed
		if r.Count() != int64(len(plain)) {
			t.Fatalf("step %d: %v counts %d, want %d", step, r, r.Count(), len(plain))
		}
		for i, one := range r {
			if one.From > one.To || i > 0 && one.From <= r[i-1].To+1 {
				t.Fatalf("step %d: %v is not in order, or not in as few ranges as would do", step, r)
			}
		}
		n, next, has := int64(len(plain)), int64(0), false
		for index := int64(most); index >= 0; index-- {
			if plain[index] {
				n--
				next, has = index, true
				if r.Nth(n) != index {
					t.Fatalf("step %d: number %d of %v is %d, want %d", step, n, r, r.Nth(n), index)
				}
			}
			if r.Has(index) != plain[index] {
				t.Fatalf("step %d: %v has %d: %v", step, r, index, r.Has(index))
			}
			if from, ok := r.From(index); ok != has || ok && from != next {
				t.Fatalf("step %d: %v from %d: %d, %v, want %d, %v", step, r, index, from, ok, next, has)
			}
		}
	}
}
