package guarded

import (
	"testing"
	"time"
)

func TestDivide(t *testing.T) {
	t.Run("numbers", func(t *testing.T) {
		if got, err := Divide(6, 3); got != 2 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
	})
	t.Run("zero", func(t *testing.T) {
		if _, err := Divide(6, 0); err == nil {
			t.Error("no error")
		}
	})
	t.Run("large", func(t *testing.T) {
		if _, err := Divide(2000, 2); err == nil {
			t.Error("no error")
		}
	})
}

func TestLate(t *testing.T) {
	now := time.Unix(1, 0)
	if !Late(now, now, true) || Late(now, now, false) || !Late(now.Add(1), now, false) {
		t.Error("wrong")
	}
}
