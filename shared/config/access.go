package config

import (
	"errors"
	"fmt"
	"strings"
)

// Access is which callers, other than local ones, may call the routes of serve that are not public.
type Access struct {
	// Token is the bearer token of remote callers, at least 32 characters. Not set: only local callers are
	// allowed.
	Token string `env:"OPLEDGER_SERVE_TOKEN"`
	// PushAudience is the audience of the Pub/Sub subscription that pushes to /effects. Not set: only local
	// callers may call /effects.
	PushAudience string `env:"OPLEDGER_PUSH_AUDIENCE"`
	// PushAccount is the service account of that subscription. Set both or neither.
	PushAccount string `env:"OPLEDGER_PUSH_ACCOUNT"`
}

// minToken is the shortest accepted token, in characters. Even one of hex digits cannot be guessed
// at that length.
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
			"the service account of the push subscription: other callers can get a token for any audience"))
	case a.PushAccount != "" && a.PushAudience == "":
		problems = append(problems, errors.New("OPLEDGER_PUSH_ACCOUNT: it needs OPLEDGER_PUSH_AUDIENCE, "+
			"the audience in the settings of the push subscription"))
	case a.PushAccount != "" && !strings.Contains(a.PushAccount, "@"):
		problems = append(problems, errors.New("OPLEDGER_PUSH_ACCOUNT: it must be the e-mail address of a service account, "+
			"such as opledger-push@my-project.iam.gserviceaccount.com"))
	}
	return problems
}

// Port is the port that a server listens on.
type Port struct {
	// Number is the port to listen on.
	Number int `env:"PORT" envDefault:"8080"`
}
