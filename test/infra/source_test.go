// Package infra_test compares infra/ with the code that it deploys: the settings, the indexes, and the
// words of the log. infra/tests tests what Terraform makes of infra/'s tables.
package infra_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// functions are the four, by their folders.
var functions = []string{"webhook", "register", "reconcile", "effects"}

// readTable reads one of infra's JSON files, and refuses fields that T has not.
func readTable[T any](t *testing.T, name string) T {
	t.Helper()
	file, err := os.Open(filepath.Join(root, "infra", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var table T
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&table); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return table
}

// terraform returns all of infra's own Terraform files as one text, with those of its ledger.
func terraform(t *testing.T) string {
	t.Helper()
	var paths []string
	for _, folder := range []string{"infra", "infra/ledger"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*.tf"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no Terraform files in %s: %v", folder, err)
		}
		paths = append(paths, found...)
	}
	var text strings.Builder
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(content)
	}
	return text.String()
}

// parse parses the Go files under a folder, without tests.
func parse(t *testing.T, folder string) []*ast.File {
	t.Helper()
	var files []*ast.File
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		files = append(files, file)
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("parsing %s: %v", folder, err)
	}
	return files
}
