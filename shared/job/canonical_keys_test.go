package job

import (
	"strconv"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// Each key is found again, by the line that had it first, and no other is.
func TestKeyLines(t *testing.T) {
	t.Parallel()
	var k keyLines
	const keys = 100_000
	for round := range uint32(2) {
		for i := range uint32(keys) {
			first, repeated := k.add(operation.HashKey(strconv.Itoa(int(i))), i+round)
			if first != i || repeated != (round > 0) {
				t.Fatalf("round %d: %d, %v of %d", round, first, repeated, i)
			}
		}
	}
	if first, repeated := k.add(operation.HashKey("another"), 7); first != 7 || repeated {
		t.Errorf("%d, %v", first, repeated)
	}
}
