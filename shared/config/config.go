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
)

// A validator is a group that checks its values. Each problem begins with the variable's name.
type validator interface {
	validate() []error
}

// A dependent is a group that is checked against the ledger's settings, which are zero where the
// ledger is not read.
type dependent interface {
	validateWith(*Ledger) []error
}

// Parse reads the settings struct T, whose fields are groups, from environ, which has the form of
// os.Environ. An empty value counts as not set. The error joins all problems, each beginning with
// the variable's name; diag.Split takes them apart.
func Parse[T any](environ []string) (T, error) {
	var settings T
	variables := Variables(environ)
	groups := reflect.ValueOf(&settings).Elem()
	var problems []error
	for i := range groups.NumField() {
		group := groups.Field(i).Addr().Interface()
		err := env.ParseWithOptions(group, env.Options{Environment: variables})
		problems = append(problems, parseProblems(err, groups.Field(i).Type(), variables)...)
	}
	undecoded := map[string]bool{}
	for _, problem := range problems {
		undecoded[variableIn(problem)] = true
	}
	add := func(found []error) {
		for _, problem := range found {
			if !undecoded[variableIn(problem)] { // else the checked value is not the one that was set
				problems = append(problems, problem)
			}
		}
	}
	var l Ledger
	for i := range groups.NumField() {
		group := groups.Field(i).Addr().Interface()
		if v, ok := group.(validator); ok {
			add(v.validate())
		}
		if found, ok := group.(*Ledger); ok {
			l = *found
		}
	}
	for i := range groups.NumField() {
		if v, ok := groups.Field(i).Addr().Interface().(dependent); ok {
			add(v.validateWith(&l))
		}
	}
	return settings, errors.Join(distinct(problems)...)
}

// Group returns the group G of a settings struct, and whether the struct has it.
func Group[G any](settings any) (G, bool) {
	groups := reflect.ValueOf(settings)
	for i := range groups.NumField() {
		if group, ok := groups.Field(i).Interface().(G); ok {
			return group, true
		}
	}
	var none G
	return none, false
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
