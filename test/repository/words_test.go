package repository

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the length that no line of Go exceeds.
const maxColumns = 120

var (
	// privateWords have a word of the field's own in their place. The pattern does not match itself.
	privateWords = regexp.MustCompile(`(?i)\b(?:some(?:body)|no(?:body)|who(?:ever)|m(?:end|ends|ended)|a(?:loud|new))\b`)
	// contractWords are names of Go's library.
	contractWords = regexp.MustCompile(`http\.No(?:Body)`)
)

// TestWords: texts use the field's words, so that no reader needs a translation.
func TestWords(t *testing.T) {
	t.Parallel()
	for file, content := range textFiles(t) {
		if !privateWords.MatchString(content) {
			continue
		}
		for i, line := range strings.Split(content, "\n") {
			if word := privateWords.FindString(contractWords.ReplaceAllString(line, "")); word != "" {
				t.Errorf("%s:%d: write another word for %q: %s", file, i+1, word, strings.TrimSpace(line))
			}
		}
	}
}

// TestColumns: a line of Go fits into a window beside another.
func TestColumns(t *testing.T) {
	t.Parallel()
	for file, content := range goFiles(t) {
		for i, line := range strings.Split(content, "\n") {
			if n := utf8.RuneCountInString(line); n > maxColumns {
				t.Errorf("%s:%d has %d columns, more than %d", file, i+1, n, maxColumns)
			}
		}
	}
}

// textFiles returns every file that is text, by its path.
func textFiles(t *testing.T) map[string]string {
	t.Helper()
	return walk(t, func(path string) bool { return filepath.Ext(path) != ".sum" })
}

// goFiles returns every Go file, by its path.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	return walk(t, func(path string) bool { return filepath.Ext(path) == ".go" })
}

// walk reads the text files that it wants of the source tree.
func walk(t *testing.T, want func(path string) bool) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		hidden := err == nil && strings.HasPrefix(entry.Name(), ".") && path != root
		if hidden && entry.IsDir() && entry.Name() != ".ci" {
			return fs.SkipDir // such as .git, and what a build keeps beside the source
		}
		if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
			return fs.SkipDir // other projects' files
		}
		if err != nil || entry.IsDir() || !want(path) {
			return err
		}
		content, err := os.ReadFile(path)
		if utf8.Valid(content) {
			files[path] = string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
