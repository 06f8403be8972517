package config

import (
	"errors"
	"fmt"
	"strings"
)

// Access is who may call the routes of serve that are not public, beside this machine.
type Access struct {
	// Token is what a caller shows as its bearer token; empty: only this machine calls.
	Token string `env:"OPLEDGER_SERVE_TOKEN"`
	// PushAudience and PushAccount are those of the Pub/Sub subscription that pushes to /effects. Both
	// are set, or neither: then /effects takes nothing from beyond this machine.
	PushAudience string `env:"OPLEDGER_PUSH_AUDIENCE"`
	PushAccount  string `env:"OPLEDGER_PUSH_ACCOUNT"`
}

// minToken is the length from which a token cannot be guessed, even one that is only in hex digits.
const minToken = 32

func (a *Access) validate() []error {
	var problems []error
	notVisible := func(r rune) bool { return r <= ' ' || r > '~' }
	if a.Token != "" && (len(a.Token) < minToken || strings.ContainsFunc(a.Token, notVisible)) {
		problems = append(problems, fmt.Errorf("OPLEDGER_SERVE_TOKEN: it must have at least %d characters, "+
			"printable and without spaces; openssl rand -base64 32 makes one", minToken))
	}
	switch {
	case a.PushAudience != "" && a.PushAccount == "":
		problems = append(problems, errors.New("OPLEDGER_PUSH_AUDIENCE: it needs OPLEDGER_PUSH_ACCOUNT, "+
			"the service account of the push subscription: others can have a token made for any audience"))
	case a.PushAccount != "" && a.PushAudience == "":
		problems = append(problems, errors.New("OPLEDGER_PUSH_ACCOUNT: it needs OPLEDGER_PUSH_AUDIENCE, "+
			"the audience in the settings of the push subscription"))
	case a.PushAccount != "" && !strings.Contains(a.PushAccount, "@"):
		problems = append(problems, errors.New("OPLEDGER_PUSH_ACCOUNT: it must be the e-mail address of a service account, "+
			"such as opledger-push@my-project.iam.gserviceaccount.com"))
	}
	return problems
}

// Port is what a server listens on.
type Port struct {
	Number int `env:"PORT" envDefault:"8080"`
}
