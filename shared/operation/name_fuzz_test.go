package operation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// FuzzParseName: any text is an error that says why, or has a key that is its own key [K1].
func FuzzParseName(f *testing.F) {
	for _, tt := range names {
		f.Add(tt.raw, string(tt.fallback))
	}
	for _, raw := range []string{"", "/", "\xff", "a\x00", "https://h /", "://", "a/ / /", "https://h/v1/x/%20",
		"batcheſ/x"} {
		f.Add(raw, "batches")
	}
	f.Fuzz(func(t *testing.T, raw, word string) {
		fallback, _ := operation.ParseCollection(word)
		name, err := operation.ParseName(raw, fallback)
		if err != nil {
			if !errors.Is(err, operation.ErrName) || name != (operation.Name{}) {
				t.Fatalf("ParseName(%q) = %+v, %v", raw, name, err)
			}
			return
		}
		key := string(name.Key)
		if key == "" || strings.HasSuffix(key, "/") || strings.TrimSpace(key) != key {
			t.Errorf("%q has key %q, which is not trimmed", raw, key)
		}
		if len(name.Resource) > operation.MaxNameBytes || name.Resource == "" {
			t.Errorf("%q has a resource of %d bytes", raw, len(name.Resource))
		}
		if len(key) > operation.MaxNameBytes {
			return // the longest bare ids, with a collection in front
		}
		for _, again := range []string{key, name.Resource, " " + key + "/ / "} {
			if got, err := operation.ParseName(again, fallback); err != nil || got.Key != name.Key {
				t.Errorf("%q has key %q, whose spelling %q has key %q, %v", raw, key, again, got.Key, err)
			}
		}
		if c := name.Key.Collection(); c != "" && string(c)+"/"+name.Key.ID() != key {
			t.Errorf("%q is not %q and %q", key, c, name.Key.ID())
		}
	})
}
