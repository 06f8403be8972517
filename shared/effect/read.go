package effect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A reader reads specs out of the tree of their text. The library's decoder would end at the first mistake.
type reader struct {
	aliases  map[*ast.AliasNode]ast.Node // what each stands for; those that stand for nothing are not here
	hasLines bool                        // the text has several, so that problems say which
	problems []problem
}

// A problem is of the entry at index, and about what stands in line.
type problem struct {
	index, line int
	err         error
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
		{"timeout", &s.Timeout}, {"concurrency", &s.Concurrency}, {"permanent", &s.Permanent},
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
	r.aliases = map[*ast.AliasNode]ast.Node{}
	ast.Walk(resolver{anchors: map[string]ast.Node{}, aliases: r.aliases, inside: map[ast.Node]bool{}}, body)
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
	mapping, ok := r.value(entry).(ast.MapNode)
	if !ok {
		if !r.unresolved("", index, entry) {
			r.wrong("", index, entry, "it must be a mapping like {name: publish, on: [SUCCEEDED], do: log}")
		}
		return Spec{Name: fmt.Sprintf("unreadable-%d", index+1), On: []operation.State{operation.Succeeded}, Do: "log"}
	}
	merge := merged{values: map[string]ast.Node{}, seen: map[ast.MapNode]bool{}}
	r.collect(mapping, &merge)
	values := merge.values
	if node := values["name"]; node != nil {
		_ = r.assign(&s.Name, node) // without a name the rules' own check says what it must be
	}
	wrong := func(at ast.Node, format string, args ...any) { r.wrong(s.Name, index, at, format, args...) }
	r.unresolved(s.Name, index, entry)
	fields := s.fields()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	for _, key := range merge.keys {
		name := key.GetToken().Value
		if slices.Contains(names, name) {
			continue
		}
		what := diag.DidYouMean(name, names)
		if what == "" {
			what = "; the fields are " + strings.Join(names, ", ")
		}
		wrong(key, "there is no field %s%s", diag.Quote(name), what)
	}
	for _, key := range merge.twice {
		wrong(key, "%s is given twice", diag.Quote(key.GetToken().Value))
	}
	for _, value := range merge.unfit {
		wrong(value, "<< must be a mapping, such as *first, or a list of mappings")
	}
	unread := map[string]bool{}
	for _, f := range fields {
		node := values[f.name]
		if node == nil || f.name == "name" {
			continue
		}
		if err := r.assign(f.into, node); err != nil {
			unread[f.name] = true
			if !errors.Is(err, errUnresolved) { // which has been said
				wrong(node, "%s %w", f.name, err)
			}
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

// rules adds what the rules' own check says of specs that were read from entries.
func (r *reader) rules(specs []Spec, entries []ast.Node, allowed operation.Transitions) {
	for index, problems := range ledger.RuleProblems(Rules(specs), allowed) {
		for _, err := range problems {
			r.wrong(specs[index].Name, index, entries[index], "%w", err)
		}
	}
}

// wrong adds a problem of the effect at index, with the line of the node that it is about.
func (r *reader) wrong(name string, index int, at ast.Node, format string, args ...any) {
	title, line := ledger.RuleTitle(name, index), at.GetToken().Position.Line
	if r.hasLines {
		title += fmt.Sprintf(" (line %d)", line)
	}
	r.problems = append(r.problems, problem{index, line, fmt.Errorf("%s: %w", title, fmt.Errorf(format, args...))})
}

// err joins the problems, in the order of the text.
func (r *reader) err() error {
	slices.SortStableFunc(r.problems, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.line, b.line))
	})
	errs := make([]error, len(r.problems))
	for i, p := range r.problems {
		errs[i] = p.err
	}
	return errors.Join(errs...)
}
