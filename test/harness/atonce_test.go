package harness

import (
	"flag"
	"testing"
)

// TestAtOnce: the number of tests is set where no flag says one, and kept where one does.
func TestAtOnce(t *testing.T) {
	parallel := flag.Lookup("test.parallel")
	before := parallel.Value.String()
	t.Cleanup(func() {
		if err := parallel.Value.Set(before); err != nil {
			t.Error(err)
		}
	})
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f == parallel })
	if AtOnce(77); (parallel.Value.String() == "77") == chosen {
		t.Errorf("-parallel is %s; that a flag said so is %v", parallel.Value, chosen)
	}
	if AtOnce(78); parallel.Value.String() == "78" {
		t.Error("what is set is not kept")
	}
}
