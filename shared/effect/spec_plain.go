package effect

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/opledger/opledger/shared/diag"
)

// maxNodes bounds a text with its aliases followed, which can be exponentially larger than the
// text.
const maxNodes = 100_000

// An expander replaces aliases, merges and tags by what they stand for. The library follows them
// only within one value, and of two merged mappings it takes the wrong one. The anchors are those
// of the whole text, so entries are expanded in its order.
type expander struct {
	anchors  map[string]ast.Node // by name, the plain value; nil for one with a fault
	sizes    map[ast.Node]int    // of these values, in nodes
	size     int                 // of everything so far
	tooLarge bool                // size is above maxNodes; nothing more is expanded
	faults   []fault             // of what was expanded since they were last taken
}

// A fault is an error about a node.
type fault struct {
	at  ast.Node
	err error
}

func (x *expander) fault(at ast.Node, format string, args ...any) {
	x.faults = append(x.faults, fault{at, fmt.Errorf(format, args...)})
}

// plain returns what node stands for; nil where a fault is in it.
func (x *expander) plain(node ast.Node) ast.Node {
	if x.size++; x.size > maxNodes {
		if !x.tooLarge {
			x.fault(node, "the text has more than %d values, aliases followed", maxNodes)
		}
		x.tooLarge = true
		return nil
	}
	switch n := node.(type) {
	case *ast.TagNode:
		return x.plain(n.Value)
	case *ast.AnchorNode:
		name, before := n.Name.GetToken().Value, x.size
		delete(x.anchors, name) // an alias inside of its own anchor would be endless
		value := x.plain(n.Value)
		x.anchors[name], x.sizes[value] = value, x.size-before
		return value
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		value, ok := x.anchors[name]
		if !ok {
			x.fault(n, "the alias %s has no anchor &%s that ends before it", diag.Quote("*"+name), name)
		}
		x.size += x.sizes[value]
		return value
	case *ast.SequenceNode:
		return x.list(n)
	case ast.MapNode:
		return x.mapping(n, node.GetToken())
	default:
		return node
	}
}

func (x *expander) list(n *ast.SequenceNode) ast.Node {
	list, whole := ast.Sequence(n.Start, n.IsFlowStyle), true
	for _, entry := range n.Values {
		value := x.plain(entry)
		whole = whole && value != nil
		list.Values = append(list.Values, value)
	}
	if !whole {
		return nil
	}
	return list
}

// mapping returns a mapping whose own keys come before those that are merged into it, of which an
// earlier one wins. A value that has a fault is nil.
func (x *expander) mapping(n ast.MapNode, start *token.Token) ast.Node {
	all := ast.Mapping(start, false)
	has := map[string]bool{}
	var merged []*ast.MappingValueNode
	for pairs := n.MapRange(); pairs.Next(); {
		key, value := pairs.Key(), x.plain(pairs.Value())
		name := key.GetToken().Value
		switch {
		case key.IsMergeKey():
			merged = append(merged, x.merged(value, pairs.Value())...)
		case has[name]:
			x.fault(key, "%s is given twice", diag.Quote(name))
		default:
			has[name] = true
			all.Values = append(all.Values, ast.MappingValue(nil, key, value))
		}
	}
	for _, pair := range merged {
		if name := pair.Key.GetToken().Value; !has[name] {
			has[name] = true
			all.Values = append(all.Values, pair)
		}
	}
	return all
}

// merged returns the pairs of the value of a merge, which stands at a node.
func (x *expander) merged(value, at ast.Node) []*ast.MappingValueNode {
	switch n := value.(type) {
	case nil: // its fault has been reported
		return nil
	case *ast.MappingNode:
		return n.Values
	case *ast.SequenceNode:
		var pairs []*ast.MappingValueNode
		for _, part := range n.Values {
			mapping, ok := part.(*ast.MappingNode)
			if !ok {
				x.fault(at, "<< must be a mapping, such as *first, or a list of mappings")
				continue
			}
			pairs = append(pairs, mapping.Values...)
		}
		return pairs
	default:
		x.fault(at, "<< must be a mapping, such as *first, or a list of mappings")
		return nil
	}
}
