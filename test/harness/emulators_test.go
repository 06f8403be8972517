package harness

import "testing"

// TestWithout: what a test cannot try fails it only where everything is required, and the variable
// does not say that it is known.
func TestWithout(t *testing.T) {
	const variable = "OPLEDGER_TEST_PART"
	for _, c := range []struct {
		require, part string
		fails         bool
	}{{"", "", false}, {"1", "", true}, {"1", "none", false}, {"1", "some", true}} {
		t.Setenv(envRequire, c.require)
		t.Setenv(variable, c.part)
		failed := func() (failed bool) {
			defer func() { failed = recover() != nil }()
			Without(&failing{TB: t}, variable, "no part of this kind is here")
			return
		}()
		if failed != c.fails {
			t.Errorf("%+v: failed %v", c, failed)
		}
	}
}
