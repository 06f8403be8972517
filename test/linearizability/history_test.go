package linearizability

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestHistory: a history is read back as it was written; where its process was killed, calls
// without an answer are unknown and never return.
func TestHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	h, err := newHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	registered := input{Call: register, Key: "batches/a"}
	before := clock()
	h.call(1, registered, func() output {
		h.call(2, aClaim, func() output { return output{Unknown: "no answer"} })
		return output{Created: true}
	})
	if err := h.close(); err != nil {
		t.Fatal(err)
	}
	all, err := readHistory(path, clock())
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	first, second := all[0], all[1]
	out := first.Output.(output)
	if first.Input != registered || first.ClientId != 1 || !out.Created || out.Unknown != "" ||
		before > first.Call || first.Call > second.Call || second.Call > first.Return || first.Return != out.Ended {
		t.Errorf("the first call: %+v", first)
	}
	if second.Input != aClaim || second.Output.(output).Unknown != "no answer" || second.Return != math.MaxInt64 {
		t.Errorf("the second call: %+v", second)
	}

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, cut := range map[string]int{
		"before its last answer":        bytes.LastIndexByte(text[:len(text)-1], '\n') + 1,
		"in the middle of the last one": len(text) - 10,
	} {
		all, err := parseHistory(text[:cut], 1<<62)
		if err != nil || len(all) != 2 {
			t.Fatalf("killed %s: %+v, %v", name, all, err)
		}
		if out := all[0].Output.(output); out.Unknown == "" || out.Ended != 1<<62 || all[0].Return != math.MaxInt64 {
			t.Errorf("killed %s: %+v", name, all[0])
		}
	}
	if all, err := parseHistory([]byte("no line\n"), 0); err == nil {
		t.Errorf("what is no history is %+v", all)
	}
}

// TestClock: the clock does not go back, and two readings are in order.
func TestClock(t *testing.T) {
	t.Parallel()
	last := clock()
	for range 1000 {
		now := clock()
		if now < last {
			t.Fatalf("%d comes after %d", now, last)
		}
		last = now
	}
}
