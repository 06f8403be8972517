package config

import "fmt"

// Handlers is what all effect handlers share, and whether they run at all.
type Handlers struct {
	AllowPrivate bool `env:"OPLEDGER_EFFECT_ALLOW_PRIVATE" envDefault:"false"`
	// Paused lets effects be planned but not run.
	Paused bool         `env:"OPLEDGER_EFFECTS_PAUSED" envDefault:"false"`
	Secret EffectSecret `env:"OPLEDGER_EFFECT_SECRET"`
	// SecretEmulator is the address of an emulated Secret Manager, for tests; empty: Google's.
	SecretEmulator string `env:"SECRET_MANAGER_EMULATOR_HOST"`
	// StorageEmulator is the address of an emulated Cloud Storage, for tests; empty: Google's.
	StorageEmulator string `env:"STORAGE_EMULATOR_HOST"`
}

// Slots is how many requests one process of a deployed function handles at once.
type Slots struct {
	Requests int `env:"OPLEDGER_EFFECTS_SLOTS" envDefault:"20"`
}

func (s *Slots) validate() []error {
	if s.Requests < 1 {
		return []error{fmt.Errorf("OPLEDGER_EFFECTS_SLOTS: it must be at least 1, not %d", s.Requests)}
	}
	return nil
}
