package gemini_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

// TestKeyPaths: a description has every key path with its type, and no value.
func TestKeyPaths(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	got := gemini.KeyPaths([]byte(`{"type":"` + secret + `","n":1,"ok":true,"none":null,"empty":{},"no":[],
		"data":{"id":"` + secret + `","list":[{"a":"` + secret + `"},{"a":"x","b":2}]}}`))
	want := []string{
		"data.id text", "data.list[].a text", "data.list[].b number", "empty object", "n number", "no list", "none null",
		"ok boolean", "type text",
	}
	if !slices.Equal(got, want) || strings.Contains(strings.Join(got, " "), secret) {
		t.Errorf("%q", got)
	}
	if got := gemini.KeyPaths([]byte(`[1]`)); got != nil {
		t.Errorf("of no object: %q", got)
	}
	wide := `{"a0":0`
	for i := range 1000 {
		wide += `,"` + strings.Repeat("b", i%50+1) + strings.Repeat("c", i/50) + `":1`
	}
	if n := len(gemini.KeyPaths([]byte(wide + "}"))); n != 100 {
		t.Errorf("%d paths", n)
	}
}

func TestIDForm(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("a1", 18)
	for name, want := range map[string]string{
		id: "ID36", "batches/" + id: "batches/ID36", "batch_123456": "ID", "v1_Chd": "v1_ID",
		"models/veo/operations/x": "…/operations/ID", "": "ID",
	} {
		if got := gemini.IDForm(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
