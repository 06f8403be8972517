// Package config reads the settings from the environment. Each function and command has a struct of its own whose fields are
// the groups it uses; what it does not use it neither reads nor checks, so that listing operations needs no webhook secret.
//
// [Parse] reports every problem at once, by the name of the variable.
package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// A validator is a group of settings that checks itself, and may make of its texts what they stand for.
type validator interface {
	validate() []error
}

// Parse reads the settings struct T from environ, which is in the form of os.Environ. The error joins every problem, each
// beginning with the variable's name. A variable that is set to nothing counts as not set.
func Parse[T any](environ []string) (T, error) {
	var settings T
	variables := map[string]string{}
	for _, variable := range environ {
		if name, value, ok := strings.Cut(variable, "="); ok && name != "" && value != "" {
			variables[name] = value
		}
	}
	problems := parseProblems(env.ParseWithOptions(&settings, env.Options{Environment: variables}), reflect.TypeFor[T]())
	unread := map[string]bool{}
	for _, problem := range problems {
		unread[variableIn(problem)] = true
	}
	groups := reflect.ValueOf(&settings).Elem()
	for i := range groups.NumField() {
		if group, ok := groups.Field(i).Addr().Interface().(validator); ok {
			for _, problem := range group.validate() {
				said := slices.ContainsFunc(problems, func(other error) bool { return other.Error() == problem.Error() })
				if !said && !unread[variableIn(problem)] { // else it is about a value that nobody set
					problems = append(problems, problem)
				}
			}
		}
	}
	return settings, errors.Join(problems...)
}

// Problems takes joined errors apart, such as those of Parse; nil has none.
func Problems(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var parts []error
	var texts []string
	for _, part := range joined.Unwrap() {
		parts = append(parts, Problems(part)...)
		texts = append(texts, part.Error())
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err} // it wraps several and says more than they do
	}
	return parts
}

// parseProblems names variables where the library names fields.
func parseProblems(err error, settings reflect.Type) []error {
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
			err = fmt.Errorf("%s: %w", variableOf(parse.Name, settings), parse.Err)
		}
		problems = append(problems, err)
	}
	return problems
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

// fileOrText returns the content of the file in "@FILE", or text itself.
func fileOrText(text string) ([]byte, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return []byte(text), nil
	}
	return os.ReadFile(name)
}
