package repository

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/opledger/opledger/"

// A mapRow is one row of the map in shared/README.md.
type mapRow struct {
	rooms []string
	files []string // that the row names
}

var (
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	namedFile = regexp.MustCompile("`([a-z_0-9]+\\.go)`")
)

// readMap returns the rows of the map, from the commands down.
func readMap(t *testing.T) (rows []mapRow) {
	t.Helper()
	_, text, found := strings.Cut(read(t, "shared/README.md"), "| level | room |")
	table, _, _ := strings.Cut(text, "\n\n")
	for line := range strings.Lines(table) {
		columns := strings.Split(line, "|")
		if len(columns) < 5 || strings.HasPrefix(columns[1], " ---") {
			continue
		}
		var row mapRow
		for _, room := range link.FindAllStringSubmatch(columns[2], -1) {
			row.rooms = append(row.rooms, path.Join("shared", room[1]))
		}
		for _, file := range namedFile.FindAllStringSubmatch(columns[3], -1) {
			row.files = append(row.files, file[1])
		}
		if last := len(rows) - 1; last >= 0 && len(row.rooms) == 0 { // more of the room above
			rows[last].files = append(rows[last].files, row.files...)
			continue
		}
		rows = append(rows, row)
	}
	if !found || len(rows) < 20 {
		t.Fatalf("the map in shared/README.md has %d rows: has its form changed?", len(rows))
	}
	return rows
}

// TestMapShowsEveryRoom: each room of the map exists with the files that its row names, and each
// package outside test/ is in one row.
func TestMapShowsEveryRoom(t *testing.T) {
	t.Parallel()
	packages := imports(t)
	seen := map[string]bool{}
	for _, row := range readMap(t) {
		for _, room := range row.rooms {
			if seen[room] {
				t.Errorf("%s is in the map twice", room)
			}
			seen[room] = true
			if packages[room] == nil {
				t.Errorf("the map shows %s, which is no package", room)
			}
		}
		for _, file := range row.files {
			if !slices.ContainsFunc(row.rooms, func(room string) bool { return exists(path.Join(room, file)) }) {
				t.Errorf("the map names %s, which is not in %q", file, row.rooms)
			}
		}
	}
	for room := range packages {
		if !seen[room] && !strings.HasPrefix(room, "test/") {
			t.Errorf("the map does not show %s", room)
		}
	}
}

// TestImportsRunDownTheMap: a package imports only packages of lower rows, or of its own row. Nothing
// that is shipped imports test/.
func TestImportsRunDownTheMap(t *testing.T) {
	t.Parallel()
	position := map[string]int{}
	for i, row := range readMap(t) {
		for _, room := range row.rooms {
			position[room] = i
		}
	}
	for importer, imported := range imports(t) {
		if strings.HasPrefix(importer, "test/") {
			continue
		}
		for dependency := range maps.Keys(imported) {
			below, shown := position[dependency]
			if !shown || below < position[importer] {
				t.Errorf("%s imports %s, which the map shows above it or not at all", importer, dependency)
			}
		}
	}
}

// imports returns every package with what it imports of the module, tests left out.
func imports(t *testing.T) map[string]map[string]bool {
	t.Helper()
	packages := map[string]map[string]bool{}
	for file, content := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testdata/") {
			continue
		}
		room, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		room = filepath.ToSlash(room)
		parsed, err := parser.ParseFile(token.NewFileSet(), file, content, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		if packages[room] == nil {
			packages[room] = map[string]bool{}
		}
		for _, imported := range parsed.Imports {
			name, err := strconv.Unquote(imported.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if dependency, ours := strings.CutPrefix(name, module); ours {
				packages[room][dependency] = true
			}
		}
	}
	return packages
}

// TestLinksLeadSomewhere: each relative link of a document is a file or a folder, and each anchor a
// heading of the document that it names.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := everyDocument(t)
	for name, text := range all {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target, fragment, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			document := name
			if target != "" {
				document = path.Join(path.Dir(name), target)
			}
			switch {
			case !exists(document):
				t.Errorf("%s links to %s, which is not there", name, target)
			case fragment != "" && !anchors(all[document])[fragment]:
				t.Errorf("%s links to the heading %q of %s, which is not there", name, fragment, document)
			}
		}
	}
}

// placed is what the map says of a file: `Fill`, `Compare` in [submission.go](operation/submission.go).
var placed = regexp.MustCompile("((?:`\\w+`(?:, | and )?)+) (?:in|of) (?:its )?\\[[^]]+]\\(([^)#]+)\\)")

// TestMapNamesWhatIsThere: each name that the map places in a file is in that file, and each file that it
// names without a link exists.
func TestMapNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	files := map[string]bool{}
	for file := range goFiles(t) {
		files[filepath.Base(file)] = true
	}
	for row := range strings.Lines(read(t, "shared/README.md")) {
		for _, found := range placed.FindAllStringSubmatch(row, -1) {
			target := path.Join("shared", found[2])
			if info, err := os.Stat(filepath.Join(root, target)); err != nil || info.IsDir() {
				continue
			}
			text := read(t, target)
			for _, name := range regexp.MustCompile(`\w+`).FindAllString(found[1], -1) {
				if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
					t.Errorf("the map places %s in %s, which does not have it: %s", name, target, row)
				}
			}
		}
		for _, found := range namedFile.FindAllStringSubmatch(row, -1) {
			if !files[found[1]] {
				t.Errorf("the map names %s, and there is no such file: %s", found[1], row)
			}
		}
	}
}

// everyDocument returns every Markdown document, by its path from the root.
func everyDocument(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for file, text := range walk(t, func(path string) bool { return filepath.Ext(path) == ".md" }) {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.ToSlash(name)] = text
	}
	return all
}

// anchors returns the anchors of a document's headings.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		all[anchor(heading[1])] = true
	}
	return all
}

// anchor is what GitHub makes of a heading.
func anchor(heading string) string {
	kept := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(kept, " ", "-")
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}
