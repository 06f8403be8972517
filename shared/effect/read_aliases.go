package effect

import (
	"errors"
	"maps"

	"github.com/goccy/go-yaml/ast"

	"github.com/opledger/opledger/shared/diag"
)

// errUnresolved: a value is an alias that stands for nothing, of which unresolved has said so.
var errUnresolved = errors.New("stands for nothing")

// A resolver finds what each alias stands for: the last anchor of its name before it. One inside its own anchor would be endless
// and stands for nothing, so that whoever follows aliases comes to an end.
type resolver struct {
	anchors map[string]ast.Node
	aliases map[*ast.AliasNode]ast.Node
	inside  map[ast.Node]bool // what the anchors around stand for
}

// Visit returns the visitor for what is inside node.
func (v resolver) Visit(node ast.Node) ast.Visitor {
	switch n := node.(type) {
	case *ast.AnchorNode:
		v.anchors[n.Name.GetToken().Value] = n.Value
		v.inside = maps.Clone(v.inside)
		v.inside[n.Value] = true
	case *ast.AliasNode:
		if value, ok := v.anchors[n.Value.GetToken().Value]; ok && !v.inside[value] {
			v.aliases[n] = value
		}
	}
	return v
}

// unresolved adds a problem for each alias in an entry that stands for nothing, and reports whether there is one.
func (r *reader) unresolved(name string, index int, entry ast.Node) bool {
	found := false
	for _, node := range ast.Filter(ast.AliasType, entry) {
		alias, ok := node.(*ast.AliasNode)
		if !ok || r.aliases[alias] != nil {
			continue
		}
		found = true
		anchor := alias.Value.GetToken().Value
		r.wrong(name, index, alias, "the alias %s has no anchor &%s that ends before it", diag.Quote("*"+anchor), anchor)
	}
	return found
}

// value returns what a node stands for, without the tags and anchors in front of it; nil for an alias that stands for nothing.
func (r *reader) value(node ast.Node) ast.Node {
	for {
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
		case *ast.TagNode:
			node = n.Value
		case *ast.AliasNode:
			node = r.aliases[n]
		default:
			return node
		}
	}
}

// merged is a mapping with what is merged into it.
type merged struct {
	values map[string]ast.Node
	keys   []ast.Node // of values, in the order of the text
	twice  []ast.Node // keys that stand in one mapping twice
	unfit  []ast.Node // values of << that are no mappings
	seen   map[ast.MapNode]bool
}

// collect adds what m does not have yet of a mapping and then of those that are merged into it, of which an earlier one wins.
func (r *reader) collect(mapping ast.MapNode, m *merged) {
	if m.seen[mapping] {
		return
	}
	m.seen[mapping] = true
	own := map[string]bool{}
	var merges []ast.Node
	for pairs := mapping.MapRange(); pairs.Next(); {
		key := pairs.Key()
		if _, isMerge := key.(*ast.MergeKeyNode); isMerge {
			merges = append(merges, pairs.Value())
			continue
		}
		name := key.GetToken().Value
		if own[name] {
			m.twice = append(m.twice, key)
			continue
		}
		own[name] = true
		if m.values[name] == nil {
			m.values[name] = pairs.Value()
			m.keys = append(m.keys, key)
		}
	}
	for _, node := range merges {
		parts := []ast.Node{node}
		if list, ok := r.value(node).(*ast.SequenceNode); ok {
			parts = list.Values
		}
		for _, part := range parts {
			switch other := r.value(part).(type) {
			case nil: // which has been said
			case ast.MapNode:
				r.collect(other, m)
			default:
				m.unfit = append(m.unfit, part)
			}
		}
	}
}
