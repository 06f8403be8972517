package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"github.com/opledger/opledger/shared/diag"
)

// everyGroup is every group there is: together what the functions and the commands read.
type everyGroup struct {
	Project       Project
	Place         Place
	Firestore     Firestore
	Topic         Topic
	OptionalTopic OptionalTopic
	Ledger        Ledger
	Webhook       Webhook
	Gemini        Gemini
	Discovery     Discovery
	Endpoint      Endpoint
	Handlers      Handlers
	Results       Results
	Slots         Slots
	Port          Port
	Access        Access
}

const ours = "OPLEDGER_"

// besides are the names with our prefix that are no settings: those that the README's submitters find a function by,
// and those that tell the tests to insist on the emulators and how much to do. People share one environment.
func besides() []string {
	return []string{"OPLEDGER_URL", "OPLEDGER_TOKEN", "OPLEDGER_REQUIRE_EMULATORS", "OPLEDGER_SOAK"}
}

// Unread reports each variable in environ, which is in the form of os.Environ, that begins with OPLEDGER_ and that no
// function and no command reads: probably another one was meant, whose default holds now, unnoticed. One that is set
// for another function is no problem. The error joins the problems, each beginning with the variable's name; none has
// a value in it.
//
// A command, and whatever checks settings before they are deployed, refuses to start: the operator is there and can
// fix it. A deployed function starts, and says it in its log once. It would not take in what Gemini delivers
// otherwise, over a variable that changes nothing; and a revision to which the operator rolls back may be older than
// a variable that is set for it.
func Unread(environ []string) error {
	params, err := env.GetFieldParams(&everyGroup{})
	if err != nil {
		return fmt.Errorf("listing the settings: %w", err)
	}
	known := besides()
	for _, param := range params {
		known = append(known, param.Key)
	}
	var names []string // without the prefix, which would let short names seem alike
	for _, name := range known {
		if name, ok := strings.CutPrefix(name, ours); ok {
			names = append(names, name)
		}
	}
	var problems []error
	for _, variable := range slices.Sorted(maps.Keys(setIn(environ))) {
		name, ok := strings.CutPrefix(variable, ours)
		if !ok || slices.Contains(names, name) {
			continue
		}
		what := "; unset it, or see the README's table of settings"
		if meant, ok := diag.Nearest(name, names); ok {
			what = "; did you mean " + ours + meant + "?"
		}
		problems = append(problems, fmt.Errorf("%.100s: there is no such setting%s", variable, what))
	}
	return errors.Join(problems...)
}
