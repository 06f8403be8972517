package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Field is a setting of a spec: its name in the text, and what reads its value. The error of Read
// is printed after the name.
type Field struct {
	Name string
	Read func(value ast.Node) error
}

// A word is a scalar as it is written. As a string the library would make 1.1 of 1.10.
type word string

var errNoScalar = errors.New("not a scalar")

// UnmarshalYAML is called by the library.
func (w *word) UnmarshalYAML(node ast.Node) error {
	switch n := node.(type) {
	case *ast.StringNode:
		*w = word(n.Value)
	case *ast.LiteralNode:
		*w = word(n.Value.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		*w = word(n.GetToken().Value)
	default:
		return errNoScalar
	}
	return nil
}

// words reads a list of scalars.
func words(value ast.Node) ([]string, bool) {
	var list []*word
	if err := yaml.NodeToValue(value, &list); err != nil || slices.Contains(list, nil) {
		return nil, false
	}
	texts := make([]string, len(list))
	for i, w := range list {
		texts[i] = string(*w)
	}
	return texts, true
}

// Text reads a text.
func Text(name string, into *string) Field {
	return Field{name, func(value ast.Node) error {
		if err := yaml.NodeToValue(value, (*word)(into)); err != nil {
			return errors.New("must be a text")
		}
		return nil
	}}
}

func texts(name string, into *[]string) Field {
	return Field{name, func(value ast.Node) error {
		var ok bool
		if *into, ok = words(value); !ok {
			return errors.New(`must be a list of texts, such as ["batch-*"]`)
		}
		return nil
	}}
}

func duration(name string, into *time.Duration) Field {
	return Field{name, func(value ast.Node) error {
		var written word
		err := yaml.NodeToValue(value, &written)
		if err == nil {
			*into, err = time.ParseDuration(string(written))
		}
		if err != nil {
			return diag.Duration(value.GetToken().Value)
		}
		return nil
	}}
}

// count reads a whole number of at least 1.
func count(name string, into *int) Field {
	return Field{name, func(value ast.Node) error {
		var digits word
		err := yaml.NodeToValue(value, &digits)
		number, notNumber := strconv.Atoi(string(digits))
		if err != nil || notNumber != nil || number < 1 {
			return errors.New("must be a whole number, at least 1, such as 10")
		}
		*into = number
		return nil
	}}
}

// Numbers reads a list of whole numbers.
func Numbers(name string, into *[]int) Field {
	const want = "must be a list of numbers, such as [404]"
	return Field{name, func(value ast.Node) error {
		texts, ok := words(value)
		if !ok {
			return errors.New(want)
		}
		for _, text := range texts {
			number, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("%s; %s is not a number", want, diag.Quote(text))
			}
			*into = append(*into, number)
		}
		return nil
	}}
}

// states reads what an effect runs on. A word that is neither state nor alert becomes a state,
// which ledger.RuleProblems reports.
func states(name string, on *[]operation.State, alerts *[]ledger.Alert) Field {
	return Field{name, func(value ast.Node) error {
		texts, ok := words(value)
		if !ok {
			return errors.New("must be a list of states and alerts, such as [SUCCEEDED]")
		}
		for _, text := range texts {
			if alert := ledger.Alert(text); slices.Contains(ledger.Alerts(), alert) {
				*alerts = append(*alerts, alert)
			} else {
				*on = append(*on, operation.State(text))
			}
		}
		return nil
	}}
}
