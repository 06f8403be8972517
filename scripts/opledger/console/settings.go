package console

import (
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
)

// settingsPage is what settings.html shows.
type settingsPage struct {
	Settings []config.Described
	Differs  string // how this process differs from what the ledger says; empty: it does not, or nothing is said
}

// loadSettings needs no ledger: one that cannot be read says nothing to compare with.
func loadSettings(c *Console, r *request) (any, error) {
	p, here := settingsPage{Settings: c.options.Settings}, c.pausedHere()
	last, _, err := c.ledger.Passes.Last(r)
	if err != nil {
		return p, nil
	}
	const says = "The ledger says that effects are "
	switch {
	case last.Effects == ledger.EffectsPaused && !here:
		p.Differs = says + "paused. For this process they are not."
		if c.overrides() {
			p.Differs += " What this console starts again runs in spite of the pause."
		}
	case last.Effects == ledger.EffectsRunning && here:
		p.Differs = says + "running. For this process they are paused."
	}
	return p, nil
}
