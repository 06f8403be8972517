package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/opledger/opledger/shared/diag"
)

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
		return diag.Duration(value)
	case parse.Type == reflect.TypeFor[time.Time]():
		return fmt.Errorf("%s is not a time; write it as 2026-11-21T14:00:00Z", diag.Quote(value))
	case parse.Type.Kind() == reflect.Bool:
		return fmt.Errorf("%s is neither true nor false; write one of them", diag.Quote(value))
	case parse.Type.Kind() == reflect.Int && errors.Is(parse.Err, strconv.ErrRange):
		return fmt.Errorf("%s is too large or too small a number", diag.Quote(value))
	case parse.Type.Kind() == reflect.Int:
		return fmt.Errorf("%s is not a whole number; write it in digits, such as 10", diag.Quote(value))
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
	problems := diag.Split(err)
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
