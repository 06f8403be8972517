package spec

import (
	"errors"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/secret"
)

// A Source is where a secret is read: in Secret Manager, or in a variable of the process's
// environment. The zero Source is none.
type Source struct {
	Secret   secret.Name
	Variable string
}

// String returns the source as it is written in the settings.
func (s Source) String() string {
	if s.Variable != "" {
		return fromVariable + s.Variable
	}
	return s.Secret.String()
}

const fromVariable = "env:"

var variable = diag.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ParseSource reads projects/P/secrets/S or env:VARIABLE. The error does not repeat a text that may
// be a secret itself.
func ParseSource(text string) (Source, error) {
	name, ok := strings.CutPrefix(text, fromVariable)
	if !ok {
		name, err := secret.ParseName(text)
		return Source{Secret: name}, err
	}
	if !variable().MatchString(name) {
		return Source{}, errors.New("env: must be followed by the name of a variable, such as env:CRM_TOKEN")
	}
	return Source{Variable: name}, nil
}
