package diag

import (
	"fmt"
	"slices"
	"strings"
)

// Split returns the errors that err joins, such as those of config.Parse; none for nil. An error
// that wraps others and has a text of its own stays as it is.
func Split(err error) []error {
	var inner []error
	switch wrapper := err.(type) { //nolint:errorlint // it takes err itself apart
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		inner = wrapper.Unwrap()
	case interface{ Unwrap() error }:
		if one := wrapper.Unwrap(); one != nil {
			inner = []error{one}
		}
	}
	var parts []error
	var texts []string
	for _, part := range inner {
		parts = append(parts, Split(part)...)
		texts = append(texts, part.Error())
	}
	if len(inner) == 0 || strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	return parts
}

// Problems are all that is wrong with an input. Each begins with what it is about, such as a variable or a flag.
type Problems []error

// When adds a problem if it is one. The format is that of fmt.Errorf.
func (p *Problems) When(wrong bool, format string, args ...any) {
	if wrong {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// Of adds the errors that err joins, each behind the name of what it is about; none for nil.
func (p *Problems) Of(name string, err error) {
	for _, problem := range Split(err) {
		*p = append(*p, fmt.Errorf("%s: %w", name, problem))
	}
}

// Lines returns what a program prints on stderr about its input. One problem is one line. Several
// are a line each, each once, under a line that counts them. Unprintable characters become blanks,
// because they could control the terminal. An error with a method Problems is a line for as many.
func Lines(program string, err error) string {
	var lines []string
	var count int64
	for _, problem := range Split(err) {
		line := oneLine(problem.Error())
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
			count += standsFor(problem)
		}
	}
	if len(lines) == 1 {
		return program + ": " + lines[0] + "\n"
	}
	return fmt.Sprintf("%s: %d problems, and nothing was done:\n  %s\n", program, count, strings.Join(lines, "\n  "))
}

func standsFor(problem error) int64 {
	if several, ok := problem.(interface{ Problems() int64 }); ok { //nolint:errorlint // of Split, which took it apart
		return several.Problems()
	}
	return 1
}

func oneLine(text string) string {
	return Printable(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; "))
}
