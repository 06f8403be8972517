package repository

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opledger/opledger/test/documents"
)

// A limit is how long a document may be. A reader finishes what is short.
type limit struct{ lines, bytes int }

// limits are those of every README.md; 0: none.
var limits = map[string]limit{
	"README.md":                          {220, 13 << 10},
	"functions/README.md":                {180, 0},
	"functions/effects/README.md":        {280, 0},
	"shared/README.md":                   {217, 0},
	"shared/submit/README.md":            {120, 0},
	"shared/config/README.md":            {80, 0},
	"scripts/opledger/README.md":         {120, 6 << 10},
	"scripts/opledger/console/README.md": {60, 0},
	"shared/effect/http/README.md":       {70, 0},
	"shared/gemini/webhooks/README.md":   {50, 0},
	"infra/README.md":                    {340, 0},
	"infra/limits/README.md":             {130, 0},
	"infra/machine/README.md":            {130, 0},
	"infra/moving/README.md":             {90, 0},
	"infra/prometheus/README.md":         {100, 0},
	"infra/playbooks/README.md":          {62, 0},
	"test/README.md":                     {170, 0},
	"test/load/README.md":                {160, 0},
	"test/mutation/README.md":            {80, 0},
}

const (
	maxWords    = 25  // of a sentence
	maxCell     = 170 // characters of a table's cell that are seen: two lines, in a table of three columns
	firstScreen = 45  // lines of README.md, by which the four ways on are seen
)

// TestDocumentsAreShort: a document has at most so many lines and bytes, comments not counted, and
// prose fits into a window.
func TestDocumentsAreShort(t *testing.T) {
	t.Parallel()
	all := everyDocument(t)
	for name, most := range limits {
		text, found := all[name]
		lines := strings.Count(text, "\n") - strings.Count(text, "\n<!--")
		if !found || most.lines > 0 && lines > most.lines {
			t.Errorf("%s has %d lines, more than %d", name, lines, most.lines)
		}
		if most.bytes > 0 && len(text) > most.bytes {
			t.Errorf("%s has %d bytes, more than %d", name, len(text), most.bytes)
		}
		for _, p := range paragraphs(text) {
			for i, line := range p.lines {
				if n := utf8.RuneCountInString(seen(line)); n > maxColumns && !p.cells {
					t.Errorf("%s:%d has %d columns, more than %d", name, p.first+i, n, maxColumns)
				}
			}
		}
	}
	first, _, found := strings.Cut(all["README.md"], "are on call")
	if !found || strings.Count(first, "\n") > firstScreen {
		t.Errorf("README.md leads on below its first %d lines", firstScreen)
	}
}

// TestSentences: a sentence has at most so many words, and a cell of a table at most two lines.
// What is in backticks is one word.
func TestSentences(t *testing.T) {
	t.Parallel()
	for name, text := range everyDocument(t) {
		if _, ours := limits[name]; !ours {
			continue
		}
		for _, p := range paragraphs(text) {
			if p.cells {
				for _, cell := range strings.Split(p.lines[0], " | ") {
					if n := utf8.RuneCountInString(seen(cell)); n > maxCell {
						t.Errorf("%s:%d: a cell has %d characters, more than %d: %s", name, p.first, n, maxCell, cell)
					}
				}
				continue
			}
			for _, sentence := range sentenceEnd.Split(seen(strings.Join(p.lines, " ")), -1) {
				if n := len(strings.Fields(sentence)); n > maxWords {
					t.Errorf("%s:%d: a sentence has %d words, more than %d: %s", name, p.first, n, maxWords, sentence)
				}
			}
		}
	}
}

// A paragraph is prose, or one row of a table.
type paragraph struct {
	first int // line
	lines []string
	cells bool
}

// paragraphs returns what is prose or table: neither code nor headings nor comments.
func paragraphs(text string) (all []paragraph) {
	fenced, open := false, false
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			fenced, open = !fenced, false
			continue
		}
		row := strings.HasPrefix(trimmed, "|")
		item := strings.HasPrefix(trimmed, "- ") || numbered.MatchString(trimmed)
		switch {
		case fenced || trimmed == "" || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "#") ||
			strings.HasPrefix(line, "<!--") || strings.HasPrefix(line, "![") || strings.HasPrefix(line, "| ---"):
			open = false
		case row:
			all, open = append(all, paragraph{i + 1, []string{strings.Trim(trimmed, "| ")}, true}), false
		case open && !item:
			all[len(all)-1].lines = append(all[len(all)-1].lines, line)
		default:
			all, open = append(all, paragraph{i + 1, []string{line}, false}), true
		}
	}
	return all
}

var (
	sentenceEnd = regexp.MustCompile(`[.!?:;](?:\*\*)?\)?(?:\s+|$)`)
	numbered    = regexp.MustCompile(`^\d+\. `)
	quotedCode  = regexp.MustCompile("`[^`]*`")
	shownLink   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// seen is a text as GitHub shows it, with each piece of code as long as it is and in one word.
func seen(text string) string {
	text = shownLink.ReplaceAllString(text, "$1")
	inOneWord := strings.NewReplacer(" ", "_", ".", "_", ":", "_", ";", "_", "?", "_", "!", "_", "`", "")
	return quotedCode.ReplaceAllStringFunc(text, inOneWord.Replace)
}

// TestDocumentedBlocks: every block of commands is run by a test that is there, or says why none can
// run it.
func TestDocumentedBlocks(t *testing.T) {
	t.Parallel()
	tests := testNames(t)
	blocks := documents.All(t, root)
	if len(blocks) < 20 {
		t.Fatalf("only %d blocks were found", len(blocks))
	}
	for _, block := range blocks {
		switch {
		case len(block.Commands) == 0 || block.Commands[0].Text == "":
			t.Errorf("%s:%d: the block begins with no command: $ …", block.Document, block.Line)
		case block.Test == "" && block.Why == "":
			t.Errorf("%s:%d: say in the line before what runs the block: <!-- run by TestDocumentedCommands -->, "+
				"or why no test can: <!-- not run: … -->", block.Document, block.Line)
		case block.Test != "" && !tests[block.Test]:
			t.Errorf("%s:%d: there is no test %s", block.Document, block.Line, block.Test)
		}
	}
}

// TestDocumentedClient: the calls in README.md are those that the package itself shows.
func TestDocumentedClient(t *testing.T) {
	t.Parallel()
	_, block, found := strings.Cut(read(t, "README.md"), "\n```python\n")
	block, _, closed := strings.Cut(block, "\n```\n")
	shown := "    " + strings.ReplaceAll(strings.ReplaceAll(block, "\n", "\n    "), "\n    \n", "\n\n") + "\n"
	if !found || !closed || !strings.Contains(read(t, "scripts/python/opledger/__init__.py"), shown) {
		t.Errorf("the package opledger does not show\n%s", shown)
	}
}

// TestDocumentedTests: a test that a document names is there.
func TestDocumentedTests(t *testing.T) {
	t.Parallel()
	tests := testNames(t)
	for name, text := range everyDocument(t) {
		for _, found := range regexp.MustCompile("`(Test[A-Z]\\w+)`").FindAllStringSubmatch(text, -1) {
			if !tests[found[1]] {
				t.Errorf("%s names %s, and there is no such test", name, found[1])
			}
		}
	}
}

func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, text := range goFiles(t) {
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(text, -1) {
			names[found[1]] = true
		}
	}
	return names
}

// measured is a figure that only a measurement gives: with a decimal point, or of four digits that
// are not round.
var measured = regexp.MustCompile(`\b\d+\.\d+\b|\b\d{1,3},\d{2}[1-9]\b`)

// apart are addresses, prices, versions and licences, whose figures are no measurements.
var apart = regexp.MustCompile(`127\.0|\$\d|Go \d|Apache`)

// TestFiguresStandOnce: what was measured is in two documents, and no other one repeats it.
func TestFiguresStandOnce(t *testing.T) {
	t.Parallel()
	all := everyDocument(t)
	figured := []string{"test/README.md", "test/load/README.md"}
	where := map[string]string{}
	for _, name := range figured {
		for _, figure := range measured.FindAllString(all[name], -1) {
			where[figure] = name
		}
	}
	if len(where) < 40 {
		t.Fatalf("the documents have only %d figures", len(where))
	}
	for name := range limits {
		for i, line := range strings.Split(all[name], "\n") {
			for _, figure := range measured.FindAllString(line, -1) {
				if first, found := where[figure]; found && !slices.Contains(figured, name) && !apart.MatchString(line) {
					t.Errorf("%s:%d repeats the figure %s of %s", name, i+1, figure, first)
				}
			}
		}
	}
}
