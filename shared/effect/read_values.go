package effect

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// assign reads a node into one of a spec's fields. null leaves it as it is. The error goes behind the field's name.
func (r *reader) assign(into any, node ast.Node) error {
	unresolved := func(node ast.Node) bool { return r.value(node) == nil }
	switch n := r.value(node).(type) {
	case nil:
		return errUnresolved
	case *ast.NullNode:
		return nil
	case *ast.SequenceNode:
		if slices.ContainsFunc(n.Values, unresolved) {
			return errUnresolved
		}
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
			return diag.Duration(text)
		}
		*into = d
	case *int:
		text, _ := r.text(node)
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 {
			return errors.New("must be a whole number, at least 1, such as 10")
		}
		*into = number
	case *[]string:
		texts, ok := r.texts(node)
		if !ok {
			return errors.New(`must be a list of texts, such as ["batch-*"]`)
		}
		*into = texts
	case *[]int:
		numbers, err := r.numbers(node)
		if err != nil {
			return err
		}
		*into = numbers
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

func (r *reader) numbers(node ast.Node) ([]int, error) {
	const want = "must be a list of numbers, such as [404]"
	texts, ok := r.texts(node)
	if !ok {
		return nil, errors.New(want)
	}
	numbers := make([]int, len(texts))
	for i, text := range texts {
		var err error
		if numbers[i], err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("%s; %s is not a number", want, diag.Quote(text))
		}
	}
	return numbers, nil
}
