package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// readmeBlock returns the first code block of a language in shared/submit/README.md.
func readmeBlock(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "shared", "submit", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "\n```"+language+"\n")
	if !found {
		t.Fatalf("shared/submit/README.md has no block of %s", language)
	}
	block, _, _ = strings.Cut(block, "\n```\n")
	return block + "\n"
}

// TestReadmeGo: what shared/submit/README.md shows of a Go program is part of one that compiles.
func TestReadmeGo(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(filepath.Join("..", "..", "shared", "submit", "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	indented := "\t" + strings.ReplaceAll(strings.TrimSuffix(readmeBlock(t, "go"), "\n"), "\n", "\n\t")
	if !strings.Contains(string(program), indented) {
		t.Errorf("shared/submit/example_test.go does not have\n%s", indented)
	}
}
