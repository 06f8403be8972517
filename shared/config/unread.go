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

// everyGroup has every group: all that the functions and the commands read.
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
	Jobs          Jobs
	Instance      Instance
	Port          Port
	Access        Access
}

const ours = "OPLEDGER_"

// besides are the names with the prefix that are no settings: of the submitters in documents, and of
// the tests. They may be set in the same environment.
func besides() []string {
	return []string{"OPLEDGER_URL", "OPLEDGER_TOKEN", "OPLEDGER_TOKEN_FILE", "OPLEDGER_REQUIRE_EMULATORS", "OPLEDGER_SOAK"}
}

// Names returns the name of every variable that a function or a command reads as a setting.
func Names() ([]string, error) {
	params, err := env.GetFieldParams(&everyGroup{})
	if err != nil {
		return nil, fmt.Errorf("listing the settings: %w", err)
	}
	var names []string
	for _, param := range params {
		names = append(names, param.Key)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Unread reports each variable in environ, which has the form of os.Environ, that begins with
// OPLEDGER_ and that no function and no command reads. Most likely another variable was meant,
// whose default applies unnoticed. A variable of another function is no problem. The error joins
// the problems, each beginning with the variable's name, and repeats no value.
//
// A command, and a check of settings before a deployment, treat it as an error, because the
// operator can fix it at once. A deployed function only logs it once and starts. It would refuse
// Gemini's deliveries otherwise, for a variable that changes nothing; and a revision that the
// operator rolls back to may be older than a variable that is set.
func Unread(environ []string) error {
	known, err := Names()
	if err != nil {
		return err
	}
	var names []string // without the prefix, which would make short names seem alike
	for _, name := range append(besides(), known...) {
		if name, ok := strings.CutPrefix(name, ours); ok {
			names = append(names, name)
		}
	}
	var problems []error
	for _, variable := range slices.Sorted(maps.Keys(Variables(environ))) {
		name, ok := strings.CutPrefix(variable, ours)
		if !ok || slices.Contains(names, name) {
			continue
		}
		what := "; unset it, or see the table in shared/config/README.md"
		if meant, ok := diag.Nearest(name, names); ok {
			what = "; did you mean " + ours + meant + "?"
		}
		problems = append(problems, fmt.Errorf("%.100s: there is no such setting%s", variable, what))
	}
	return errors.Join(problems...)
}
