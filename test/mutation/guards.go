package main

import (
	"fmt"
	"go/ast"
	"go/token"
)

// visit finds the guards below a node: the conditions, the operands and the comparisons.
func (m *mutator) visit(root ast.Node) {
	var before ast.Stmt // the statement before the guard
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			m.inOrder(n.List, &before)
			return false
		case *ast.CaseClause:
			for _, e := range n.List {
				m.visit(e)
			}
			m.inOrder(n.Body, &before)
			return false
		case *ast.CommClause:
			if n.Comm != nil {
				m.visit(n.Comm)
			}
			m.inOrder(n.Body, &before)
			return false
		case *ast.SwitchStmt:
			if n.Tag == nil {
				m.cases(n)
			}
		case *ast.BinaryExpr:
			m.binary(n)
		case *ast.CallExpr:
			m.instant(n)
		}
		return true
	})
}

// inOrder visits statements with what stands before each.
func (m *mutator) inOrder(statements []ast.Stmt, before *ast.Stmt) {
	for _, s := range statements {
		m.statement(s, *before)
		m.visit(s)
		*before = s
	}
}

// statement finds the guards that a statement is.
func (m *mutator) statement(s, before ast.Stmt) {
	switch s := s.(type) {
	case *ast.IfStmt:
		for {
			judged := before
			if s.Init != nil {
				judged = s.Init
			}
			m.guard(s.Cond, m.judging(s.Cond, judged))
			next, ok := s.Else.(*ast.IfStmt)
			if !ok {
				return
			}
			before, s = judged, next
		}
	case *ast.ReturnStmt:
		for _, e := range s.Results {
			m.value(e)
		}
	case *ast.AssignStmt:
		for _, e := range s.Rhs {
			m.value(e)
		}
	case *ast.LabeledStmt:
		m.statement(s.Stmt, before)
	}
}

func (m *mutator) cases(s *ast.SwitchStmt) {
	for _, c := range s.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			m.guard(e, "case "+m.text(e))
		}
	}
}

// guard adds the mutants that take a condition out, and that make it hold back everything. The
// condition itself is judged first: only where it decides otherwise is its mutant reached.
func (m *mutator) guard(e ast.Expr, text string) {
	m.around(e, text, never, "(", " && !mutant_.On(%d))")
	m.around(e, text, always, "(", " || mutant_.On(%d))")
}

// value adds the mutant of a boolean that is computed and returned or kept.
func (m *mutator) value(e ast.Expr) {
	switch b := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		switch b.Op {
		case token.EQL, token.NEQ, token.LAND, token.LOR, token.LSS, token.LEQ, token.GTR, token.GEQ:
			m.around(e, m.text(e), negated, "((", ") != mutant_.On(%d))")
		}
	case *ast.UnaryExpr:
		if b.Op == token.NOT {
			m.around(e, m.text(e), negated, "((", ") != mutant_.On(%d))")
		}
	}
}

// binary adds the mutants of && and ||, and of a comparison by order.
func (m *mutator) binary(b *ast.BinaryExpr) {
	shift := map[token.Token]string{token.LSS: "Less", token.LEQ: "AtMost", token.GTR: "Greater", token.GEQ: "AtLeast"}
	switch b.Op {
	case token.LAND, token.LOR:
		for _, operand := range []ast.Expr{b.X, b.Y} {
			if inner, ok := ast.Unparen(operand).(*ast.BinaryExpr); ok && inner.Op == b.Op {
				continue // its operands are this one's
			}
			text := m.text(operand) + " of " + m.text(b)
			if b.Op == token.LAND {
				m.around(operand, text, without, "((", ") || mutant_.On(%d))")
			} else {
				m.around(operand, text, without, "((", ") && !mutant_.On(%d))")
			}
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		if id, ok := m.add(b, m.text(b), shifted); ok {
			operator := m.offset(b.OpPos)
			m.edits = append(m.edits, edit{
				start: m.offset(b.Pos()), end: m.offset(b.End()),
				before: fmt.Sprintf("mutant_.%s(%d, ", shift[b.Op], id), after: ")",
				cut: []piece{{operator, operator + len(b.Op.String()), ","}},
			})
		}
	}
}

// instant adds the mutant of a comparison of two instants.
func (m *mutator) instant(c *ast.CallExpr) {
	call, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || len(c.Args) != 1 || call.Sel.Name != "Before" && call.Sel.Name != "After" {
		return
	}
	if pkg, ok := call.X.(*ast.Ident); ok && pkg.Name == "time" {
		return // time.After makes a channel
	}
	if id, ok := m.add(c, m.text(c), shifted); ok {
		m.edits = append(m.edits, edit{
			start: m.offset(c.Pos()), end: m.offset(c.End()),
			before: fmt.Sprintf("mutant_.%s(%d, ", call.Sel.Name, id), after: "",
			cut: []piece{{m.offset(call.X.End()), m.offset(c.Lparen) + 1, ", "}},
		})
	}
}

func (m *mutator) around(e ast.Expr, text string, k kind, before, after string) {
	if id, ok := m.add(e, text, k); ok {
		m.edits = append(m.edits, edit{
			start: m.offset(e.Pos()), end: m.offset(e.End()), before: before, after: fmt.Sprintf(after, id),
		})
	}
}
