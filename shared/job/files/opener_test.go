package files_test

import (
	"errors"
	"io"
	"testing"

	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/storage"
)

// TestOpener: results are opened by their place in this process's job storage, and in no other.
func TestOpener(t *testing.T) {
	t.Parallel()
	s := folder(t)
	create(t, s, "nightly/results.jsonl", "one\n")
	content, err := files.Opener(s)(t.Context(), s.String()+"/nightly/results.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(content)
	if err = errors.Join(err, content.Close()); err != nil || string(text) != "one\n" {
		t.Errorf("%q, %v", text, err)
	}
	for name, of := range map[string]storage.Storage{"another storage": folder(t), "no storage": nil} {
		_, err := files.Opener(of)(t.Context(), s.String()+"/nightly/results.jsonl")
		if !errors.Is(err, files.ErrForeignStorage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
