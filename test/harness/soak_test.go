package harness

import "testing"

// TestSoak: each level has its own count, the default is short, and an unknown level fails the test.
func TestSoak(t *testing.T) {
	for level, want := range map[string]int{"": 1, "short": 1, "night": 2, "long": 3} {
		t.Setenv(envSoak, level)
		if got := Soak(t, 1, 2, 3); got != want {
			t.Errorf("%q: %d, want %d", level, got, want)
		}
	}
	t.Setenv(envSoak, "longer")
	failing := &failing{TB: t}
	defer func() {
		if recover() != any(failing) {
			t.Error("an unknown level passed")
		}
	}()
	Soak(failing, 1, 2, 3)
}

// failing is a test that Fatalf ends by a panic with the test itself.
type failing struct{ testing.TB }

func (f *failing) Fatalf(string, ...any) { panic(f) }
