package secret

import (
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// A Name is the full name of a secret, projects/P/secrets/S. The zero Name names none.
type Name struct{ Project, ID string }

// String returns the name as Secret Manager writes it.
func (n Name) String() string { return "projects/" + n.Project + "/secrets/" + n.ID }

var (
	// A project is an id, with or without a domain, or a number.
	project = diag.Pattern(`^[a-z0-9][a-z0-9.:-]*$`)
	id      = diag.Pattern(`^[A-Za-z0-9_-]+$`)
)

const (
	maxID     = 255
	maxQuoted = 120
)

var errForm = errors.New("it must be the name of a secret in Secret Manager, projects/PROJECT/secrets/SECRET")

// ParseName parses projects/P/secrets/S. It refuses a name with a version, because a fixed version
// would outlive a rotation. The error does not repeat a text that may be a secret itself.
func ParseName(text string) (Name, error) {
	if !strings.HasPrefix(text, "projects/") {
		return Name{}, errForm
	}
	parts := strings.Split(text, "/")
	if len(parts) > 4 && parts[4] == "versions" {
		return Name{}, fmt.Errorf("%w; without a version: the enabled versions are found automatically",
			errForm)
	}
	if len(parts) != 4 || parts[2] != "secrets" || !project().MatchString(parts[1]) || !id().MatchString(parts[3]) ||
		len(parts[3]) > maxID {
		return Name{}, fmt.Errorf("%w, not %s", errForm, diag.QuoteUpTo(text, maxQuoted))
	}
	return Name{Project: parts[1], ID: parts[3]}, nil
}
