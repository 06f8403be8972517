// Package config reads the settings from environment variables, each once. A function or command
// declares a struct whose fields are the groups that it uses. It neither reads nor checks the other
// groups, so that listing operations needs no webhook secret.
//
// A value that stands for something (a store, a policy, secrets) is decoded by its type's
// UnmarshalText. A group then checks its values together. [Parse] reports all problems at once,
// each by the name of its variable, and [Unread] the variables that nothing reads. No problem
// repeats a secret.
package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"github.com/opledger/opledger/shared/diag"
)

// A validator is a group that checks its values.
type validator interface {
	validate(*diag.Problems)
}

// A dependent is a group that is checked against the ledger's settings, which are zero where the
// ledger is not read.
type dependent interface {
	validateWith(*diag.Problems, *Ledger)
}

// Parse reads the settings struct T, whose fields are groups, from environ, which has the form of
// os.Environ. An empty value counts as not set. The error joins all problems, each beginning with
// the variable's name; diag.Split takes them apart.
func Parse[T any](environ []string) (T, error) {
	var settings T
	variables := Variables(environ)
	groups := reflect.ValueOf(&settings).Elem()
	var undecoded, unfit diag.Problems
	for _, group := range groups.Fields() {
		err := env.ParseWithOptions(group.Addr().Interface(), env.Options{Environment: variables})
		addParsed(&undecoded, err, group.Type(), variables)
	}
	for _, group := range groups.Fields() {
		if v, ok := group.Addr().Interface().(validator); ok {
			v.validate(&unfit)
		}
	}
	l := Group[Ledger](settings)
	for _, group := range groups.Fields() {
		if v, ok := group.Addr().Interface().(dependent); ok {
			v.validateWith(&unfit, &l)
		}
	}
	unfit = slices.DeleteFunc(unfit, func(problem error) bool { // the checked value is not the one that was set
		return slices.ContainsFunc(undecoded, func(other error) bool { return variableIn(other) == variableIn(problem) })
	})
	return settings, errors.Join(distinct(append(undecoded, unfit...))...)
}

// Group returns the group G of a settings struct; the zero value where it has none.
func Group[G any](settings any) (group G) {
	for _, field := range reflect.ValueOf(settings).Fields() {
		if found, ok := field.Interface().(G); ok {
			return found
		}
	}
	return group
}

// distinct drops the repetitions of problems, since two groups may have a variable in common.
func distinct(problems []error) []error {
	var kept []error
	for _, problem := range problems {
		same := func(other error) bool { return other.Error() == problem.Error() }
		if !slices.ContainsFunc(kept, same) {
			kept = append(kept, problem)
		}
	}
	return kept
}

// Variables returns the values in environ, by name, without the empty ones.
func Variables(environ []string) map[string]string {
	variables := map[string]string{}
	for _, variable := range environ {
		if name, value, ok := strings.Cut(variable, "="); ok && name != "" && value != "" {
			variables[name] = value
		}
	}
	return variables
}

// fileOrText returns the content of the file in "@FILE", or else text itself.
func fileOrText(text string) ([]byte, error) {
	name, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return []byte(text), nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	return content, nil
}
