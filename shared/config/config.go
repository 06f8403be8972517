// Package config reads the settings from the environment. Each function and command has a struct of its own whose
// fields are the groups it uses; what it does not use it neither reads nor checks, so that listing operations needs
// no webhook secret.
//
// [Parse] reports every problem at once, by the name of the variable; [Unread] those variables that nothing reads.
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

// A defaulter is a group of settings whose defaults are stated where they are used, not in its tags.
type defaulter interface {
	setDefaults()
}

// A validator is a group of settings that checks itself, and may make of its texts what they stand for.
type validator interface {
	validate() []error
}

// A dependent is a group of settings that checks itself by the ledger's, the zero ones where those are
// not read.
type dependent interface {
	validateWith(*Ledger) []error
}

// Parse reads the settings struct T from environ, which is in the form of os.Environ. The error joins every problem,
// each beginning with the variable's name. A variable that is set to nothing counts as not set.
func Parse[T any](environ []string) (T, error) {
	var settings T
	variables := setIn(environ)
	groups := reflect.ValueOf(&settings).Elem()
	for i := range groups.NumField() {
		if group, ok := groups.Field(i).Addr().Interface().(defaulter); ok {
			group.setDefaults()
		}
	}
	problems := parseProblems(env.ParseWithOptions(&settings, env.Options{Environment: variables}), reflect.TypeFor[T](),
		variables)
	unread := map[string]bool{}
	for _, problem := range problems {
		unread[variableIn(problem)] = true
	}
	add := func(ofGroup []error) {
		for _, problem := range ofGroup {
			said := slices.ContainsFunc(problems, func(other error) bool { return other.Error() == problem.Error() })
			if !said && !unread[variableIn(problem)] { // else it is about a value that was not set
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
	return settings, errors.Join(problems...)
}

// Group returns the group G of settings that Parse returned, and whether they have it.
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

// setIn returns what is set in environ, by name. A variable that is set to nothing counts as not set.
func setIn(environ []string) map[string]string {
	variables := map[string]string{}
	for _, variable := range environ {
		if name, value, ok := strings.Cut(variable, "="); ok && name != "" && value != "" {
			variables[name] = value
		}
	}
	return variables
}

// fileOrText returns the content of the file in "@FILE", or text itself.
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
