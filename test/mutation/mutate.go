package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// switches is the package that every mutated copy imports.
const switches = module + "/test/mutation/switchboard"

// A kind is what a mutant does to a guard.
type kind string

const (
	never   kind = "never"   // the guard is taken out: what it guards against happens
	always  kind = "always"  // the guard holds back everything
	without kind = "without" // an operand of && or || is taken out
	shifted kind = "shifted" // a comparison decides otherwise of what is equal
	negated kind = "negated" // a boolean that is returned or kept is the opposite
)

// A mutant is one change of one guard.
type mutant struct {
	id       int
	Package  string // "shared/operation"
	Function string
	Guard    string // the expression, with the statement that it judges before it
	Kind     kind
	file     string
	line     int
}

// A mutator finds the mutants of one file.
type mutator struct {
	fset     *token.FileSet
	pkg      string
	path     string
	source   []byte
	function string
	next     *int
	skip     map[int]bool // the lines whose mutants do not compile
	mutants  []mutant
	edits    []edit
}

// mutateFile returns the mutated source of a file, and its mutants. next is the number of the next
// mutant.
func mutateFile(pkg, path string, source []byte, next *int, skip map[int]bool) (string, []mutant, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", nil, fmt.Errorf("reading %s: %w", path, err)
	}
	m := &mutator{fset: fset, pkg: pkg, path: path, source: source, next: next, skip: skip}
	for _, decl := range file.Decls {
		m.function = "var"
		if f, ok := decl.(*ast.FuncDecl); ok {
			m.function = functionName(f)
		}
		m.visit(decl)
	}
	if len(m.mutants) == 0 {
		return string(source), nil, nil
	}
	at := m.offset(file.Name.End())
	m.edits = append(m.edits, edit{start: at, end: at, after: `; import mutant_ "` + switches + `"`})
	return m.rendered(), m.mutants, nil
}

func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if index, ok := receiver.(*ast.IndexExpr); ok {
		receiver = index.X
	}
	if name, ok := receiver.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

// add numbers a mutant. It has none on a line whose mutants do not compile.
func (m *mutator) add(e ast.Expr, text string, k kind) (id int, ok bool) {
	line := m.fset.Position(e.Pos()).Line
	found := mutant{Package: m.pkg, Function: m.function, Guard: text, Kind: k, file: m.path, line: line}
	if m.skip[line] {
		return 0, false
	}
	found.id = *m.next
	*m.next++
	m.mutants = append(m.mutants, found)
	return found.id, true
}

// judging is the text of a condition, with the assignment before it where it judges what that
// assigned: "err != nil" alone names no guard.
func (m *mutator) judging(cond ast.Expr, before ast.Stmt) string {
	text := m.text(cond)
	assign, ok := before.(*ast.AssignStmt)
	if !ok {
		return text
	}
	judged := false
	ast.Inspect(cond, func(n ast.Node) bool {
		name, ok := n.(*ast.Ident)
		judged = judged || ok && slices.ContainsFunc(assign.Lhs, func(e ast.Expr) bool {
			assigned, ok := e.(*ast.Ident)
			return ok && assigned.Name == name.Name
		})
		return !judged
	})
	if !judged {
		return text
	}
	return m.text(assign) + "; " + text
}

// text is a node's source in one short line.
func (m *mutator) text(n ast.Node) string {
	const most = 120
	text := strings.Join(strings.Fields(string(m.source[m.offset(n.Pos()):m.offset(n.End())])), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

func (m *mutator) offset(p token.Pos) int { return m.fset.Position(p).Offset }
