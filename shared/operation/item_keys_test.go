package operation_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// TestKeySum: the digest of a set of keys does not depend on their order, tells sets apart, and is read
// back as it was written [K4].
func TestKeySum(t *testing.T) {
	t.Parallel()
	sumOf := func(order []int) (sum operation.KeySum) {
		for _, i := range order {
			sum = sum.With(operation.HashKey(fmt.Sprint("item-", i)))
		}
		return sum
	}
	random := rand.New(rand.NewPCG(1, 2))
	const items = 300
	all := sumOf(random.Perm(items))
	seen := map[string]bool{}
	for n := range items {
		order := random.Perm(items)
		if sumOf(order) != all {
			t.Fatal("K4: another order has another digest")
		}
		text := sumOf(order[:n]).String()
		if seen[text] {
			t.Fatalf("K4: two sets have the digest %q", text)
		}
		seen[text] = true
		if operation.ParseKeySum(text).String() != text {
			t.Fatalf("K4: %q is read as %q", text, operation.ParseKeySum(text))
		}
	}
	if none := sumOf(nil).String(); none != "" {
		t.Errorf("K4: of no key the digest is %q", none)
	}
	for _, odd := range []string{"", "ab", "xyz", all.String() + "00", all.String() + "0", all.String() + "zz"} {
		if operation.ParseKeySum(odd) != (operation.KeySum{}) {
			t.Errorf("K4: %q is read as a digest", odd)
		}
	}
}
