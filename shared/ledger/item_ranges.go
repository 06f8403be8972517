package ledger

import (
	"fmt"
	"slices"
	"strconv"
)

// A Range is the indexes From to To, both included.
type Range struct {
	From int64 `json:"from" firestore:"from"`
	To   int64 `json:"to" firestore:"to"`
}

// String returns the one index, or both ends: 7 or 20-31.
func (r Range) String() string {
	if r.From == r.To {
		return strconv.FormatInt(r.From, 10)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

// Ranges is a set of indexes. Its ranges are in order, with at least one index missing between two
// of them.
type Ranges []Range

// at returns the position of the first range that ends at index or behind it.
func (r Ranges) at(index int64) int {
	i, _ := slices.BinarySearchFunc(r, index, func(one Range, index int64) int {
		if one.To < index {
			return -1
		}
		return 1
	})
	return i
}

// Has reports whether index is in the set.
func (r Ranges) Has(index int64) bool {
	i := r.at(index)
	return i < len(r) && r[i].From <= index
}

// Count returns how many indexes are in the set.
func (r Ranges) Count() (n int64) {
	for _, one := range r {
		n += one.To - one.From + 1
	}
	return n
}

// Nth returns the index with n others before it; n must be less than Count.
func (r Ranges) Nth(n int64) int64 {
	for _, one := range r {
		if size := one.To - one.From + 1; n >= size {
			n -= size
			continue
		}
		return one.From + n
	}
	panic("ledger: there are not so many indexes in the ranges")
}

// From returns the first index of the set that is not before index; false: there is none.
func (r Ranges) From(index int64) (int64, bool) {
	i := r.at(index)
	if i == len(r) {
		return 0, false
	}
	return max(r[i].From, index), true
}

// With returns the set with index in it. r itself is unchanged.
func (r Ranges) With(index int64) Ranges {
	if r.Has(index) {
		return r
	}
	i := r.at(index)
	one := Range{index, index}
	from, to := i, i
	if i > 0 && r[i-1].To == index-1 {
		from, one.From = i-1, r[i-1].From
	}
	if i < len(r) && r[i].From == index+1 {
		to, one.To = i+1, r[i].To
	}
	return slices.Replace(slices.Clone(r), from, to, one)
}

// Without returns the set without index. r itself is unchanged.
func (r Ranges) Without(index int64) Ranges {
	if !r.Has(index) {
		return r
	}
	i := r.at(index)
	var rest Ranges
	if r[i].From < index {
		rest = append(rest, Range{r[i].From, index - 1})
	}
	if index < r[i].To {
		rest = append(rest, Range{index + 1, r[i].To})
	}
	return slices.Replace(slices.Clone(r), i, i+1, rest...)
}
