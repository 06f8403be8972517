package spec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Parse reads a list of specs in YAML or JSON. The error joins every problem, those of
// ledger.RuleProblems among them, in the order of the text. Each begins with the effect's name or,
// where it has none, its place in the list, and in a text of several lines with the line. No
// problem quotes the source or a URL, which may hold a password.
//
// Beside an error the specs are what could be read. Do is nil where its kind is unknown, and
// nothing of it should be run.
func Parse(text []byte, kinds []Kind, allowed operation.Transitions) ([]Spec, error) {
	entries, err := entriesOf(text)
	if err != nil {
		return nil, err
	}
	r := reader{kinds: kinds, hasLines: strings.Contains(strings.TrimSpace(string(text)), "\n")}
	specs := make([]Spec, len(entries))
	for i, node := range entries {
		specs[i] = r.entry(i, node)
	}
	for i, problems := range ledger.RuleProblems(Rules(specs), allowed) {
		for _, err := range problems {
			r.add(specs[i].Name, i, entries[i], err)
		}
	}
	return specs, r.err()
}

var errNoEffect = errors.New("it lists no effect; leave it unset for the default, which logs every completion")

// entriesOf returns the entries of the one list that text is.
func entriesOf(text []byte) ([]ast.Node, error) {
	const want = "it must be a list like [{name: publish, on: [SUCCEEDED], do: log}]"
	tokens := lexer.Tokenize(string(text))
	if i := slices.IndexFunc(tokens, isReference); i >= 0 {
		return nil, fmt.Errorf("%s, without anchors and aliases: line %d has one; write each effect in full, and a text "+
			"that begins with & or * in quotes", want, tokens[i].Position.Line)
	}
	// A key that is given twice is reported by its entry, so that it does not hide the other problems.
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, fmt.Errorf("%s, in YAML or JSON%s", want, placeOf(err))
	}
	var body ast.Node
	for _, document := range file.Docs {
		switch {
		case document.Body == nil:
		case body != nil:
			line := document.Body.GetToken().Position.Line
			return nil, fmt.Errorf("%s, and one list: line %d begins another document", want, line)
		default:
			body = document.Body
		}
	}
	list, ok := body.(*ast.SequenceNode)
	switch {
	case body == nil, ok && len(list.Values) == 0:
		return nil, errNoEffect
	case !ok:
		return nil, errors.New(want)
	}
	return list.Values, nil
}

// isReference reports whether a token is an anchor or an alias. The library follows them only within
// one value, and of two merged mappings it takes the wrong one.
func isReference(t *token.Token) bool { return t.Type == token.AnchorType || t.Type == token.AliasType }

// placeOf returns where the text is malformed, and why unless that quotes the text. The Error
// method of the library's errors shows the source, which may hold the password of a URL.
func placeOf(err error) string {
	var syntax yaml.Error
	if !errors.As(err, &syntax) || syntax.GetToken() == nil {
		return ""
	}
	place := fmt.Sprintf(": line %d", syntax.GetToken().Position.Line)
	if why := syntax.GetMessage(); !strings.Contains(why, `"`) {
		place += ": " + why
	}
	return place
}

// A reader turns the entries into specs and collects the problems.
type reader struct {
	kinds    []Kind
	hasLines bool // problems say in which line they are
	problems []problem
}

// A problem is of the entry at index, and about what stands in line.
type problem struct {
	index, line int
	err         error
}

// add adds a problem of the effect at index, about a node.
func (r *reader) add(name string, index int, at ast.Node, err error) {
	title, line := ledger.RuleTitle(name, index), at.GetToken().Position.Line
	if r.hasLines {
		title += fmt.Sprintf(" (line %d)", line)
	}
	r.problems = append(r.problems, problem{index, line, fmt.Errorf("%s: %w", title, err)})
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
