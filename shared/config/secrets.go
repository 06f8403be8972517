package config

import (
	"errors"
	"strings"

	"github.com/opledger/opledger/shared/effect/http"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/secret"
)

// SigningSecrets are the secrets that static deliveries are signed with.
type SigningSecrets struct {
	// Secrets are the keys that sign static deliveries: projects/P/secrets/S (every enabled version)
	// or whsec_…; several, separated by spaces. None yet: deliveries are answered 503.
	Secrets Secrets `env:"OPLEDGER_WEBHOOK_SECRET"`
}

// Secrets are signing secrets themselves and the names of secrets in Secret Manager. Both lists may
// be empty: the first deployment comes before there is a webhook.
type Secrets struct {
	Values []string
	Names  []secret.Name
}

// UnmarshalText reads secrets and names, separated by white space. The error joins a problem for
// each that is malformed, and repeats no secret.
func (s *Secrets) UnmarshalText(text []byte) error {
	var read Secrets
	var problems []error
	for _, word := range strings.Fields(string(text)) {
		if !isSecretName(word) {
			read.Values = append(read.Values, word)
			continue
		}
		name, err := secret.ParseName(word)
		problems = append(problems, err)
		read.Names = append(read.Names, name)
	}
	if len(read.Values) > 0 {
		_, err := gemini.NewVerifier(read.Values...)
		problems = append(problems, err)
	}
	*s = read
	return errors.Join(problems...)
}

// IsZero reports whether there are neither secrets nor names.
func (s Secrets) IsZero() bool { return len(s.Values) == 0 && len(s.Names) == 0 }

// An EffectSecret signs the requests of http effects. It is secrets themselves, each of which
// signs, or the name of a secret in Secret Manager. The zero EffectSecret signs nothing.
type EffectSecret struct {
	Values []string
	Name   secret.Name
}

// UnmarshalText reads secrets, separated by white space, or one name. The error joins a problem for
// each that is malformed, and repeats no secret.
func (s *EffectSecret) UnmarshalText(text []byte) error {
	words := strings.Fields(string(text))
	switch {
	case len(words) == 0:
		return errors.New("it is blank; set it, or unset it to send effects unsigned")
	case !isSecretName(words[0]):
		*s = EffectSecret{Values: words}
		_, err := http.NewSigner(words...)
		return err
	case len(words) > 1: // the others may be secrets, so they are not repeated
		return errors.New("it must be one name of a secret, or secrets themselves, not both")
	default:
		name, err := secret.ParseName(words[0])
		*s = EffectSecret{Name: name}
		return err
	}
}

// IsZero reports whether nothing is signed.
func (s EffectSecret) IsZero() bool { return len(s.Values) == 0 && s.Name == secret.Name{} }

func isSecretName(word string) bool { return strings.HasPrefix(word, "projects/") }
