package effect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/mistake"
	"github.com/opledger/opledger/shared/operation"
)

// A reader reads specs out of the tree of their text. The library's decoder would end at the first mistake.
type reader struct {
	anchors  map[string]ast.Node
	hasLines bool // the text has several, so that problems say which
	problems []error
}

// A field is one that a spec has, and where its value goes.
type field struct {
	name string
	into any
}

func (s *Spec) fields() []field {
	return []field{
		{"name", &s.Name}, {"on", &s.On}, {"jobKinds", &s.JobKinds}, {"do", &s.Do}, {"each", &s.Each},
		{"url", &s.URL}, {"topic", &s.Topic}, {"collection", &s.Collection}, {"bucket", &s.Bucket},
		{"timeout", &s.Timeout},
	}
}

// list returns the entries of the one list that text is. The error is of a text without one, of which nothing else can be said.
func (r *reader) list(text []byte) ([]ast.Node, error) {
	const want = "it must be a list like [{name: publish, on: [SUCCEEDED], do: log}]"
	file, err := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey()) // which are reported with everything else
	if err != nil {
		var syntax yaml.Error // whose own text shows the source, which may hold the password of a URL
		if errors.As(err, &syntax) && syntax.GetToken() != nil {
			return nil, fmt.Errorf("%s, in YAML or JSON: line %d: %s", want, syntax.GetToken().Position.Line, syntax.GetMessage())
		}
		return nil, fmt.Errorf("%s, in YAML or JSON", want)
	}
	var body ast.Node
	for _, document := range file.Docs {
		if document.Body == nil {
			continue
		}
		if body != nil {
			return nil, fmt.Errorf("%s, and one list: line %d begins another document", want, document.Body.GetToken().Position.Line)
		}
		body = document.Body
	}
	if body == nil {
		return nil, errNoEffect
	}
	r.hasLines = strings.Contains(strings.TrimSpace(string(text)), "\n")
	r.anchors = map[string]ast.Node{}
	for _, node := range ast.Filter(ast.AnchorType, body) {
		if anchor, ok := node.(*ast.AnchorNode); ok {
			r.anchors[anchor.Name.GetToken().Value] = anchor.Value
		}
	}
	list, ok := r.value(body).(*ast.SequenceNode)
	switch {
	case !ok:
		return nil, errors.New(want)
	case len(list.Values) == 0:
		return nil, errNoEffect
	}
	return list.Values, nil
}

var errNoEffect = errors.New("it lists no effect; leave it unset for the default, which logs every completion")

// spec reads the entry at index and checks it. What cannot be read of it is filled up with what the rules' own check has nothing to
// say about: it is reported here.
func (r *reader) spec(index int, entry ast.Node) Spec {
	var s Spec
	values, twice := map[string]ast.Node{}, []ast.Node(nil)
	mapping, ok := r.value(entry).(ast.MapNode)
	if !ok {
		r.wrong(ledger.RuleTitle("", index), entry, "it must be a mapping like {name: publish, on: [SUCCEEDED], do: log}")
		return Spec{Name: fmt.Sprintf("unreadable-%d", index+1), On: []operation.State{operation.Succeeded}, Do: "log"}
	}
	keys := r.collect(mapping, values, &twice, maxNested)
	if node := values["name"]; node != nil {
		_ = r.assign(&s.Name, node) // without a name the rules' own check says what it must be
	}
	wrong := func(at ast.Node, format string, args ...any) {
		r.wrong(ledger.RuleTitle(s.Name, index), at, format, args...)
	}
	fields := s.fields()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	for _, key := range keys {
		name := key.GetToken().Value
		if slices.Contains(names, name) {
			continue
		}
		what := mistake.DidYouMean(name, names)
		if what == "" {
			what = "; the fields are " + strings.Join(names, ", ")
		}
		wrong(key, "there is no field %s%s", mistake.Quote(name), what)
	}
	for _, key := range twice {
		wrong(key, "%s is given twice", mistake.Quote(key.GetToken().Value))
	}
	unread := map[string]bool{}
	for _, f := range fields {
		node := values[f.name]
		if node == nil || f.name == "name" {
			continue
		}
		if err := r.assign(f.into, node); err != nil {
			unread[f.name] = true
			wrong(node, "%s %w", f.name, err)
		}
	}
	if unread["on"] {
		s.On = []operation.State{operation.Succeeded}
	}
	s.sort()
	s.check(func(field, format string, args ...any) {
		if unread[field] {
			return // what is said of it is about a value that nobody gave
		}
		at := values[field]
		if at == nil {
			at = entry
		}
		wrong(at, format, args...)
	})
	return s
}

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

// wrong adds a problem, with the line of the node that it is about.
func (r *reader) wrong(title string, at ast.Node, format string, args ...any) {
	if r.hasLines {
		title += fmt.Sprintf(" (line %d)", at.GetToken().Position.Line)
	}
	r.problems = append(r.problems, fmt.Errorf("%s: %w", title, fmt.Errorf(format, args...)))
}
