package gemini_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

// TestCorrelationOrder: the one pass over a text finds the id that a search of its whole tree finds,
// the shallower first, and at one depth in the order of the keys [K6].
func TestCorrelationOrder(t *testing.T) {
	t.Parallel()
	const texts = 3000
	random, found := rand.New(rand.NewPCG(1, 2)), 0
	for range texts {
		root := map[string]any{"x": tree(random, 0), "": tree(random, 0), "data": tree(random, 0)}
		text, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		want := inOrder([]any{root})
		if want != "" {
			found++
		}
		if got := gemini.CorrelationOf(text); got != want {
			t.Fatalf("%q, want %q of %s", got, want, text)
		}
	}
	if found < texts/2 {
		t.Errorf("only %d of %d texts had an id", found, texts)
	}
}

// tree returns a value with ids somewhere in it, each another.
func tree(random *rand.Rand, depth int) any {
	kind := random.IntN(8)
	switch {
	case depth > 5 || kind < 2:
		return random.IntN(9)
	case kind < 4:
		list := make([]any, random.IntN(4))
		for i := range list {
			list[i] = tree(random, depth+1)
		}
		return list
	case kind < 5:
		return map[string]any{gemini.CorrelationKey: fmt.Sprint("c-", random.Uint32())}
	default:
		object := map[string]any{}
		for range random.IntN(4) {
			object[string(rune('a'+random.IntN(4)))] = tree(random, depth+1)
		}
		return object
	}
}

// inOrder returns the first id in the order of CorrelationOf, in values of one depth and below.
func inOrder(level []any) string {
	var below []any
	for _, value := range level {
		switch value := value.(type) {
		case map[string]any:
			if id, ok := value[gemini.CorrelationKey].(string); ok {
				return id
			}
			for _, key := range slices.Sorted(maps.Keys(value)) {
				below = append(below, value[key])
			}
		case []any:
			below = append(below, value...)
		}
	}
	if len(below) == 0 {
		return ""
	}
	return inOrder(below)
}
