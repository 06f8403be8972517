package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// An entry is one spec while it is read.
type entry struct {
	*reader
	spec   Spec
	index  int
	node   ast.Node
	pairs  []*ast.MappingValueNode
	unread map[string]bool // fields whose value could not be read, which has been reported
}

// entry reads the spec at index and checks it. Where the entry is no mapping, the spec is one that
// ledger.RuleProblems has nothing to say about.
func (r *reader) entry(index int, node ast.Node) Spec {
	e := entry{reader: r, index: index, node: node, unread: map[string]bool{}}
	mapping, ok := node.(ast.MapNode)
	if !ok {
		r.add("", index, node, errors.New("it must be a mapping like {name: publish, on: [SUCCEEDED], do: log}"))
		return Spec{Name: fmt.Sprintf("unreadable-%d", index+1), On: []operation.State{operation.Succeeded}}
	}
	for pairs := mapping.MapRange(); pairs.Next(); {
		e.pairs = append(e.pairs, pairs.KeyValue())
	}
	_ = e.read(Text("name", &e.spec.Name)) // ledger.RuleProblems says what a name must be
	e.fields(e.kind())
	e.spec.check(func(field, format string, args ...any) {
		if !e.unread[field] { // else it would be about a value that is not there
			e.wrong(field, fmt.Errorf(format, args...))
		}
	})
	return e.spec
}

// kind reads what the effect does, and returns the fields of the other kinds, with the kind's name.
func (e *entry) kind() (others map[string]string) {
	var do string
	if err := e.read(Text("do", &do)); err != nil {
		e.wrong("do", fmt.Errorf("do %w", err))
	}
	others = map[string]string{}
	var names []string
	for _, k := range e.kinds {
		names = append(names, k.Name)
		action := k.New()
		if k.Name == do {
			e.spec.Do = action
			continue
		}
		for _, f := range action.Fields() {
			others[f.Name] = k.Name
		}
	}
	if e.spec.Do == nil && !e.unread["do"] {
		e.wrong("do", fmt.Errorf("do must be one of %s, not %s%s",
			strings.Join(names, ", "), diag.Quote(do), diag.DidYouMean(do, names)))
	}
	return others
}

// fields reads all fields but name and do.
func (e *entry) fields(others map[string]string) {
	fields := e.spec.fields()
	if e.spec.Do != nil {
		fields = append(fields, e.spec.Do.Fields()...)
	}
	names := []string{"name", "do"}
	for _, f := range fields {
		names = append(names, f.Name)
	}
	for _, pair := range e.pairs {
		name := pair.Key.GetToken().Value
		if e.pair(name) != pair {
			e.add(e.spec.Name, e.index, pair.Key, fmt.Errorf("%s is given twice", diag.Quote(name)))
			continue
		}
		i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
		kind, ofOther := others[name]
		switch {
		case i >= 0:
			if err := e.read(fields[i]); err != nil {
				e.wrong(name, fmt.Errorf("%s %w", name, err))
			}
		case name == "name", name == "do", ofOther && e.spec.Do == nil:
		case ofOther && pair.Value.Type() == ast.NullType: // as a program writes that leaves no field out
		case ofOther:
			e.wrong(name, fmt.Errorf("%s is for do: %s", name, kind))
		default:
			what := cmp.Or(diag.DidYouMean(name, names), "; the fields are "+strings.Join(names, ", "))
			e.wrong(name, fmt.Errorf("there is no field %s%s", diag.Quote(name), what))
		}
	}
	if e.unread["on"] {
		e.spec.On = []operation.State{operation.Succeeded}
	}
}

// wrong adds a problem of a field, in the field's line or else the entry's.
func (e *entry) wrong(field string, err error) {
	at := e.node
	if pair := e.pair(field); pair != nil {
		at = pair.Key
	}
	e.add(e.spec.Name, e.index, at, err)
}

// pair returns the first pair of a field, or nil.
func (e *entry) pair(name string) *ast.MappingValueNode {
	i := slices.IndexFunc(e.pairs, func(p *ast.MappingValueNode) bool { return p.Key.GetToken().Value == name })
	if i < 0 {
		return nil
	}
	return e.pairs[i]
}

// read reads a field, if the entry has it. null leaves it as it is.
func (e *entry) read(f Field) error {
	pair := e.pair(f.Name)
	if pair == nil || pair.Value.Type() == ast.NullType {
		return nil
	}
	err := f.Read(pair.Value)
	e.unread[f.Name] = err != nil
	return err
}
