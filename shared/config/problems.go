package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/caarlos0/env/v11"

	"github.com/opledger/opledger/shared/mistake"
)

// Problems takes joined errors apart, such as those of Parse; nil has none. An error that wraps several, or one, and says more
// than they do stays as it is.
func Problems(err error) []error {
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
		parts = append(parts, Problems(part)...)
		texts = append(texts, part.Error())
	}
	if len(inner) == 0 || strings.Join(texts, "\n") != err.Error() {
		return []error{err}
	}
	return parts
}

// Lines is how a program that a person started says on stderr what is wrong with what it was given: one problem in one line,
// several under a line that counts them, each once and in a line of its own. What is not printable is left out: it may be a
// stranger's, and command the terminal.
func Lines(program string, err error) string {
	var lines []string
	for _, problem := range Problems(err) {
		line := oneLine(problem.Error())
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 1 {
		return program + ": " + lines[0] + "\n"
	}
	return fmt.Sprintf("%s: %d problems, and nothing was done:\n  %s\n", program, len(lines), strings.Join(lines, "\n  "))
}

func oneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "; ")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// parseProblems names variables where the library names fields, and says how a value is written where the library quotes the
// package that could not read it.
func parseProblems(err error, settings reflect.Type, variables map[string]string) []error {
	var problems []error
	var all env.AggregateError
	if !errors.As(err, &all) {
		if err != nil {
			problems = append(problems, err)
		}
		return problems
	}
	for _, err := range all.Errors {
		var parse env.ParseError
		if errors.As(err, &parse) {
			variable := variableOf(parse.Name, settings)
			err = fmt.Errorf("%s: %w", variable, unreadable(variables[variable], parse))
		}
		problems = append(problems, err)
	}
	return problems
}

// unreadable says what a value had to be. Texts are always readable: no secret is repeated.
func unreadable(value string, parse env.ParseError) error {
	switch {
	case parse.Type == reflect.TypeFor[time.Duration]():
		return mistake.Duration(value)
	case parse.Type == reflect.TypeFor[time.Time]():
		return fmt.Errorf("%s is not a time; write it as 2026-11-21T14:00:00Z", mistake.Quote(value))
	case parse.Type.Kind() == reflect.Bool:
		return fmt.Errorf("%s is neither true nor false; write one of them", mistake.Quote(value))
	case parse.Type.Kind() == reflect.Int && errors.Is(parse.Err, strconv.ErrRange):
		return fmt.Errorf("%s is too large or too small a number", mistake.Quote(value))
	case parse.Type.Kind() == reflect.Int:
		return fmt.Errorf("%s is not a whole number; write it in digits, such as 10", mistake.Quote(value))
	default:
		return parse.Err
	}
}

// variableOf returns the variable that a field of one of the groups is read from.
func variableOf(field string, settings reflect.Type) string {
	for i := range settings.NumField() {
		if f, ok := settings.Field(i).Type.FieldByName(field); ok {
			return f.Tag.Get("env")
		}
	}
	return field
}

// problemsOf names the variable that errors are about, in each of them; nil has none.
func problemsOf(variable string, err error) []error {
	problems := Problems(err)
	for i, problem := range problems {
		problems[i] = fmt.Errorf("%s: %w", variable, problem)
	}
	return problems
}

// variableIn returns the variable that a problem is about.
func variableIn(problem error) string {
	variable, _, _ := strings.Cut(problem.Error(), ":")
	return variable
}
