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

// addParsed adds the library's errors as problems of variables, where the library names fields. A
// problem says how a value is written, where the library quotes the package that could not read it.
func addParsed(p *diag.Problems, err error, group reflect.Type, variables map[string]string) {
	all, several := errors.AsType[env.AggregateError](err)
	if !several && err != nil {
		*p = append(*p, err)
	}
	for _, err := range all.Errors {
		if parse, ok := errors.AsType[env.ParseError](err); ok {
			variable := variableOf(parse.Name, group)
			p.Of(variable, unreadable(variables[variable], parse))
		} else {
			*p = append(*p, err)
		}
	}
}

// unreadable says how a value is written, by its type. A type that decodes itself has an error of
// its own. No secret is repeated, because secrets are texts or decode themselves.
func unreadable(value string, parse env.ParseError) error {
	switch {
	case parse.Type == reflect.TypeFor[time.Duration](), parse.Type == reflect.TypeFor[*time.Duration]():
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

// variableOf returns the variable that a field of a group, or of a group within it, is read from.
func variableOf(field string, group reflect.Type) string {
	for f := range group.Fields() {
		switch {
		case f.Name == field:
			return f.Tag.Get("env")
		case f.Type.Kind() == reflect.Struct:
			if variable := variableOf(field, f.Type); variable != "" {
				return variable
			}
		}
	}
	return ""
}

// variableIn returns the variable that a problem begins with.
func variableIn(problem error) string {
	variable, _, _ := strings.Cut(problem.Error(), ":")
	return variable
}
