package config

import (
	"errors"
	"strings"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/secret"
)

// Handlers is what the effects' handlers are given beside the effects themselves, and whether they run at all.
type Handlers struct {
	AllowPrivate bool `env:"OPLEDGER_EFFECT_ALLOW_PRIVATE" envDefault:"false"`
	// Paused lets effects be planned and none be run.
	Paused bool `env:"OPLEDGER_EFFECTS_PAUSED" envDefault:"false"`
	// Secret signs what http sends: secrets themselves, separated by white space, or the name of one in Secret Manager. Empty:
	// nothing is signed.
	Secret string `env:"OPLEDGER_EFFECT_SECRET"`
	// SecretEmulator is where the secret is, for a test; empty: in Google's Secret Manager.
	SecretEmulator string `env:"SECRET_MANAGER_EMULATOR_HOST"`
	// StorageEmulator is where objects are written to, for a test; empty: to Google's Cloud Storage.
	StorageEmulator string `env:"STORAGE_EMULATOR_HOST"`
}

// SecretName returns the name of the secret in Secret Manager, or false where Secret holds secrets themselves or nothing.
func (h Handlers) SecretName() (string, bool) {
	name := strings.TrimSpace(h.Secret)
	return name, strings.HasPrefix(name, "projects/")
}

func (h *Handlers) validate() []error {
	if h.Secret == "" {
		return nil
	}
	secrets := strings.Fields(h.Secret)
	if len(secrets) == 0 {
		return problemsOf("OPLEDGER_EFFECT_SECRET", errors.New("it is blank; set it, or unset it to send effects unsigned"))
	}
	if name, ok := h.SecretName(); ok {
		if len(secrets) > 1 { // of which another may be a secret itself
			return problemsOf("OPLEDGER_EFFECT_SECRET",
				errors.New("it must be one name of a secret, or secrets themselves, not both"))
		}
		_, err := secret.ParseName(name)
		return problemsOf("OPLEDGER_EFFECT_SECRET", err)
	}
	_, err := effect.NewSigner(secrets...)
	return problemsOf("OPLEDGER_EFFECT_SECRET", err)
}
