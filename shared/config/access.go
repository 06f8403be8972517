package config

import (
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// Access is which callers, other than local ones, may call the routes of serve that are not public.
type Access struct {
	// Token is the bearer token of callers, at least 32 characters. Not set: serve makes one, in a file beside
	// the store. none, and in a simulation: local callers need none.
	Token string `env:"OPLEDGER_SERVE_TOKEN"`
	// PushAudience is the audience of the Pub/Sub subscription that pushes to /effects. Not set: only local
	// callers may call /effects.
	PushAudience string `env:"OPLEDGER_PUSH_AUDIENCE" secret:"no"`
	// PushAccount is the service account of that subscription. Set both or neither.
	PushAccount string `env:"OPLEDGER_PUSH_ACCOUNT" secret:"no"`
}

// NoToken is the Token of a server whose local callers need none.
const NoToken = "none"

// minToken is the shortest accepted token, in characters. Even one of hex digits cannot be guessed
// at that length.
const minToken = 32

func (a *Access) validate(p *diag.Problems) {
	if a.Token != "" && a.Token != NoToken {
		err := CheckToken(a.Token)
		p.When(err != nil, "OPLEDGER_SERVE_TOKEN: %w; openssl rand -base64 32 makes one, and none stands for no token", err)
	}
	audience, account := a.PushAudience != "", a.PushAccount != ""
	p.When(audience && !account, "OPLEDGER_PUSH_AUDIENCE: it needs OPLEDGER_PUSH_ACCOUNT, "+
		"the service account of the push subscription: other callers can get a token for any audience")
	p.When(account && !audience, "OPLEDGER_PUSH_ACCOUNT: it needs OPLEDGER_PUSH_AUDIENCE, "+
		"the audience in the settings of the push subscription")
	p.When(account && audience && !strings.Contains(a.PushAccount, "@"), "OPLEDGER_PUSH_ACCOUNT: it must be the e-mail "+
		"address of a service account, such as opledger-push@my-project.iam.gserviceaccount.com")
}

// CheckToken returns nil for a bearer token that cannot be guessed. The error does not repeat it.
func CheckToken(token string) error {
	notVisible := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(token) < minToken || strings.ContainsFunc(token, notVisible) {
		return fmt.Errorf("it must have at least %d characters, printable and without spaces", minToken)
	}
	return nil
}

// Port is the port that a server listens on.
type Port struct {
	// Number is the port to listen on.
	Number int `env:"PORT" envDefault:"8080"`
}
