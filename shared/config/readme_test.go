package config

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/generated"
)

// TestReadmeListsEverySetting: the table in README.md is made of the groups: the comment of a field
// says what its variable means.
func TestReadmeListsEverySetting(t *testing.T) {
	t.Parallel()
	s := settingsTable{t: t, comments: fieldComments(t), readers: readers(t), seen: map[string]bool{}}
	groups := reflect.ValueOf(&everyGroup{}).Elem()
	for i := range groups.NumField() {
		s.add(groups.Field(i))
	}
	generated.Rest(t, "README.md",
		"| variable | default | who | meaning |\n| --- | --- | --- | --- |\n"+strings.Join(s.rows, ""))
}

// A settingsTable collects the rows of the table.
type settingsTable struct {
	t        *testing.T
	comments map[string]string // by type and field
	readers  map[string]string // by variable
	seen     map[string]bool
	rows     []string
}

// add appends a row for each variable of a group that has none yet.
func (s *settingsTable) add(group reflect.Value) {
	for i := range group.NumField() {
		field := group.Type().Field(i)
		name := field.Tag.Get("env")
		switch {
		case name == "" && field.Type.Kind() == reflect.Struct:
			s.add(group.Field(i))
			continue
		case name == "" || name == "-" || s.seen[name]:
			continue
		}
		s.seen[name] = true
		meaning := s.comments[group.Type().Name()+"."+field.Name]
		if meaning == "" {
			s.t.Errorf("the field %s.%s needs a comment that begins with its name: it is the row of %s in README.md",
				group.Type().Name(), field.Name, name)
		}
		who, ok := s.readers[name]
		if !ok {
			who = "`serve`"
		}
		s.rows = append(s.rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n",
			name, defaultOf(field.Tag), who, meaning))
	}
}

// defaultOf is what a variable is where it is not set: – where nothing is.
func defaultOf(tag reflect.StructTag) string {
	text := tag.Get("envDefault")
	if text == "" {
		return "–"
	}
	return "`" + text + "`"
}

// readers says which functions read a variable, as infra/settings.json has it.
func readers(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "infra", "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		Name      string   `json:"name"`
		Functions []string `json:"functions"`
	}
	if err := json.Unmarshal(content, &table); err != nil {
		t.Fatal(err)
	}
	letters := map[string]string{"webhook": "W", "register": "G", "reconcile": "R", "effects": "E"}
	by := map[string]string{}
	for _, row := range table {
		var who []string
		for _, function := range row.Functions {
			who = append(who, letters[function])
		}
		if by[row.Name] = strings.Join(who, " "); len(who) == len(letters) {
			by[row.Name] = "all"
		}
	}
	return by
}

// literal is what is typed as it stands.
var literal = regexp.MustCompile(`OPLEDGER_[A-Z_]+|whsec_…|sqlite:(?:PATH|opledger\.db)|firestore\[\S+\]|` +
	`projects/P/secrets/S|SUCCEEDED:FAILED|@FILE|/effects`)

// fieldComments returns the comments of the fields of every struct in this folder, without the
// field's name at their beginning. A field whose comment begins otherwise has none.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, file := range slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") }) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			named, ok := node.(*ast.TypeSpec)
			if !ok {
				return true
			}
			group, ok := named.Type.(*ast.StructType)
			if !ok {
				return false
			}
			for _, field := range group.Fields.List {
				for _, name := range field.Names {
					comments[named.Name.Name+"."+name.Name] = meaningOf(name.Name, field.Doc.Text())
				}
			}
			return false
		})
	}
	return comments
}

// meaningOf is a comment without "Name is".
func meaningOf(name, comment string) string {
	text, found := strings.CutPrefix(strings.Join(strings.Fields(comment), " "), name+" ")
	if !found {
		return ""
	}
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	text = strings.ReplaceAll(strings.TrimSuffix(text, "."), "|", "\\|")
	return literal.ReplaceAllString(text, "`$0`")
}
