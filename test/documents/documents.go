// Package documents reads the console blocks of the documents, for the tests that run them as
// printed. A comment in the source of a document, right before the block, says which test runs it,
// or why none can:
//
//	<!-- run by TestDocumentedCommands -->
//	<!-- not run: it builds on Google Cloud -->
package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A Block is a fenced block of commands, each with the output that is printed under it.
type Block struct {
	Document string // its path from the root, with slashes
	Line     int
	Test     string // that runs it; empty: none does
	Why      string // no test can run it
	Commands []Command
}

// A Command is what stands behind a $, with its further lines.
type Command struct {
	Text   string
	Output []string
}

var (
	runBy  = regexp.MustCompile(`^<!-- run by (Test\w+) -->$`)
	notRun = regexp.MustCompile(`^<!-- not run: (.+) -->$`)
	here   = regexp.MustCompile(`<<'?(\w+)'?$`)
)

// All returns every block of every README.md below root.
func All(t *testing.T, root string) (all []Block) {
	t.Helper()
	if err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && (entry.Name() == "node_modules" || entry.Name()[0] == '.') {
			return fs.SkipDir
		}
		if err != nil || entry.Name() != "README.md" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, blocksOf(filepath.ToSlash(name), string(text))...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// For returns the blocks that a test runs. There is one at least.
func For(t *testing.T, root, test string) (its []Block) {
	t.Helper()
	for _, block := range All(t, root) {
		if block.Test == test {
			its = append(its, block)
		}
	}
	if len(its) == 0 {
		t.Fatalf("no document has a block that is run by %s", test)
	}
	return its
}

func blocksOf(document, text string) (all []Block) {
	var block *Block
	end, before := "", "" // of a here-document; the line before
	for i, line := range strings.Split(text, "\n") {
		switch {
		case block == nil && line == "```console":
			block = &Block{Document: document, Line: i + 1}
			if found := runBy.FindStringSubmatch(before); found != nil {
				block.Test = found[1]
			}
			if found := notRun.FindStringSubmatch(before); found != nil {
				block.Why = found[1]
			}
		case block == nil:
		case line == "```":
			all, block = append(all, *block), nil
		default:
			end = block.read(line, end)
		}
		before = line
	}
	return all
}

// read takes a line of the block, of which end is the last line of the here-document that it is in.
func (b *Block) read(line, end string) string {
	command, begins := strings.CutPrefix(line, "$ ")
	switch {
	case end == "" && begins:
		b.Commands = append(b.Commands, Command{Text: command})
	case len(b.Commands) == 0:
		b.Commands = append(b.Commands, Command{Output: []string{line}}) // which TestDocumentedBlocks refuses
	case end != "" || strings.HasSuffix(b.last().Text, "\\"):
		b.last().Text += "\n" + line
	default:
		b.last().Output = append(b.last().Output, line)
	}
	if found := here.FindStringSubmatch(line); found != nil && end == "" {
		return found[1]
	}
	if line == end {
		return ""
	}
	return end
}

func (b *Block) last() *Command { return &b.Commands[len(b.Commands)-1] }
