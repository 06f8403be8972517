package config

import (
	"time"

	"github.com/opledger/opledger/shared/diag"
)

// Handlers is what all effect handlers share, and whether they run at all.
type Handlers struct {
	// AllowPrivate lets http effects reach private and loopback addresses.
	AllowPrivate bool `env:"OPLEDGER_EFFECT_ALLOW_PRIVATE" envDefault:"false"`
	Pause
	// Secret is the key that signs http effects: whsec_…, several separated by spaces (each signs), or
	// projects/P/secrets/S, whose latest version is read at the start. Not set: unsigned.
	Secret EffectSecret `env:"OPLEDGER_EFFECT_SECRET"`
	// SecretEmulator is the address of an emulated Secret Manager, for tests; empty: Google's.
	SecretEmulator string `env:"SECRET_MANAGER_EMULATOR_HOST" secret:"no"`
	// StorageEmulator is the address of an emulated Cloud Storage, for tests; empty: Google's.
	StorageEmulator string `env:"STORAGE_EMULATOR_HOST" secret:"no"`
}

// Pause is whether effects wait. Reconcile knows it, too, and leaves it in the report of each pass.
type Pause struct {
	// Paused lets effects be planned, but not run.
	Paused bool `env:"OPLEDGER_EFFECTS_PAUSED" envDefault:"false"`
}

// Instance is what the platform gives one process of the deployed effects function. Both
// deployments set it to what they ask of the platform.
type Instance struct {
	// Slots is how many messages one process handles at once. Half of them may wait in it.
	Slots int `env:"OPLEDGER_EFFECTS_SLOTS" envDefault:"20"`
	// Timeout is when the platform ends a request. Work ends 15 s earlier, to record the outcome.
	Timeout time.Duration `env:"OPLEDGER_EFFECTS_TIMEOUT" envDefault:"540s"`
	// MemoryLimit is read by Go's runtime, which keeps the process under it where it can. Items of
	// over 1 MiB take at most a sixth of it, and others wait. Not set: 60 MiB.
	MemoryLimit string `env:"GOMEMLIMIT" secret:"no"`
}

func (i *Instance) validate(p *diag.Problems) {
	p.When(i.Slots < 1, "OPLEDGER_EFFECTS_SLOTS: it must be at least 1, not %d", i.Slots)
	p.When(i.Timeout <= 0, "OPLEDGER_EFFECTS_TIMEOUT: it must be a duration longer than zero: "+
		"the timeout of the deployed function, such as 540s")
}

// validateWith refuses secrets in variables, which no deployment gives the function.
func (i *Instance) validateWith(p *diag.Problems, l *Ledger) {
	for _, s := range l.Effects {
		for _, from := range s.Do.Sources() {
			p.When(from.Variable != "", "OPLEDGER_EFFECTS: effect %q: a deployed function has no variable for %s; "+
				"store it in Secret Manager, and name it projects/PROJECT/secrets/SECRET", s.Name, from)
		}
	}
}
