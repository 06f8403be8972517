package operation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// TestParseNameIsIdempotent: a key is a form of its own name, and so is the name for requests to
// the API [K1].
func TestParseNameIsIdempotent(t *testing.T) {
	t.Parallel()
	for _, tt := range names {
		name := parse(t, tt.raw, tt.fallback)
		for _, again := range []string{string(name.Key), name.Resource} {
			if got := parse(t, again, tt.fallback).Key; got != name.Key {
				t.Errorf("%s: %q has key %q, whose spelling %q has key %q", tt.about, tt.raw, name.Key, again, got)
			}
		}
	}
}

// spellings returns every form of a collection and id that the rules name, alone and combined [K1].
func spellings(c operation.Collection, id string) []string {
	word := string(c)
	swapped := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r - 'A' + 'a'
	}, word)
	var all []string
	for _, word := range []string{word, strings.ToLower(word), strings.ToUpper(word), swapped} {
		for _, front := range []string{
			"", "/", "models/veo-3.1/", "projects/p/locations/us/", "projects/p/locations/us/operations/o1/",
			"https://generativelanguage.googleapis.com/v1beta/", "https://h/v1/models/m/", "http://localhost:8080/",
		} {
			for _, around := range [][2]string{{"", ""}, {"", "/"}, {"", "//"}, {" ", " "}, {"\n\t", "/ \r\n"}, {"", " / /"}} {
				all = append(all, around[0]+front+word+"/"+id+around[1])
			}
		}
	}
	return all
}

// TestSpellingsOfOneOperation: all spellings of one operation have one key. Ids keep their case. No
// two operations share a key [K1, K2].
func TestSpellingsOfOneOperation(t *testing.T) {
	t.Parallel()
	ids := []string{"abc-123", "ABC-123", "Abc-123", "abc-1234", "a", "0", "v1", "v1_Chd=", "operations", "batches",
		"Batches", "a.b", "a~b", "a:cancel", "größe"}
	owner := map[operation.Key]string{}
	for _, c := range operation.Collections() {
		for _, id := range ids {
			this := fmt.Sprintf("%s and %s", c, id)
			want := operation.Key(string(c) + "/" + id)
			if other, taken := owner[want]; taken {
				t.Fatalf("%s share a key with %s", this, other)
			}
			owner[want] = this
			for _, raw := range spellings(c, id) {
				// A type never overrules the collection that a name has.
				for _, fallback := range []operation.Collection{"", operation.Batches} {
					if got := parse(t, raw, fallback).Key; got != want {
						t.Errorf("%q has key %q, want %q", raw, got, want)
					}
				}
			}
			if got := parse(t, id, c).Key; got != want {
				t.Errorf("bare %q in %s has key %q, want %q", id, c, got, want)
			}
			if want.Collection() != c || want.ID() != id {
				t.Errorf("%q is %q and %q, want %s", want, want.Collection(), want.ID(), this)
			}
		}
	}
}
