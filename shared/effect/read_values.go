package effect

import (
	"errors"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/opledger/opledger/shared/mistake"
	"github.com/opledger/opledger/shared/operation"
)

// maxNested bounds how far merges and aliases are followed: they may lead back to themselves.
const maxNested = 16

// collect puts the values of a mapping and of those that are merged into it into values, and returns their keys in the order of
// the text. Keys that stand in one mapping twice are added to twice.
func (r *reader) collect(mapping ast.MapNode, values map[string]ast.Node, twice *[]ast.Node, depth int) []ast.Node {
	var keys []ast.Node
	var merged []ast.Node
	for pairs := mapping.MapRange(); pairs.Next(); {
		key := pairs.Key()
		if _, isMerge := key.(*ast.MergeKeyNode); isMerge {
			merged = append(merged, r.value(pairs.Value()))
			continue
		}
		name := key.GetToken().Value
		if _, known := values[name]; known {
			*twice = append(*twice, key)
			continue
		}
		values[name] = pairs.Value()
		keys = append(keys, key)
	}
	for _, node := range merged {
		other, ok := node.(ast.MapNode)
		if !ok || depth == 0 {
			continue
		}
		inherited := map[string]ast.Node{}
		for _, key := range r.collect(other, inherited, twice, depth-1) {
			if name := key.GetToken().Value; values[name] == nil {
				values[name] = inherited[name]
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// value returns what a node stands for, without the tags and anchors in front of it; nil for an alias of no anchor.
func (r *reader) value(node ast.Node) ast.Node {
	for range maxNested {
		switch n := node.(type) {
		case *ast.AnchorNode:
			node = n.Value
		case *ast.TagNode:
			node = n.Value
		case *ast.AliasNode:
			node = r.anchors[n.Value.GetToken().Value]
		default:
			return node
		}
	}
	return nil
}

// assign reads a node into one of a spec's fields. null leaves it as it is. The error goes behind the field's name.
func (r *reader) assign(into any, node ast.Node) error {
	if _, isNull := r.value(node).(*ast.NullNode); isNull {
		return nil
	}
	switch into := into.(type) {
	case *string:
		text, ok := r.text(node)
		if !ok {
			return errors.New("must be a text")
		}
		*into = text
	case *time.Duration:
		text, ok := r.text(node)
		if !ok {
			return errors.New("must be a duration, such as 90s, 5m or 6h")
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return mistake.Duration(text)
		}
		*into = d
	case *[]string:
		texts, ok := r.texts(node)
		if !ok {
			return errors.New(`must be a list of texts, such as ["batch-*"]`)
		}
		*into = texts
	case *[]operation.State:
		texts, ok := r.texts(node)
		if !ok {
			return errors.New("must be a list of states and alerts, such as [SUCCEEDED]")
		}
		for _, text := range texts {
			*into = append(*into, operation.State(text))
		}
	}
	return nil
}

// text returns a scalar as it was written: a word or a number, quoted or not.
func (r *reader) text(node ast.Node) (string, bool) {
	switch n := r.value(node).(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	default:
		return "", false
	}
}

func (r *reader) texts(node ast.Node) ([]string, bool) {
	list, ok := r.value(node).(*ast.SequenceNode)
	if !ok {
		return nil, false
	}
	var texts []string
	for _, entry := range list.Values {
		text, ok := r.text(entry)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}
