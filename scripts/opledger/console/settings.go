package console

import (
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
)

// settingsPage is what settings.html shows.
type settingsPage struct {
	Settings []config.Described
	Differs  string // how this process differs from what the last pass saw; empty: it does not, or none tells
}

// loadSettings needs no ledger: one that cannot be read has no last pass to compare with.
func loadSettings(c *Console, r *request) (any, error) {
	p, here := settingsPage{Settings: c.options.Settings}, c.options.Effects.Paused
	last, now, err := c.ledger.LastPass(r)
	if err != nil {
		return p, nil
	}
	saw := "The last pass, " + phrase.Relative(last.Ended, now) + ", saw that effects are "
	switch {
	case last.Effects == ledger.EffectsPaused && !here:
		p.Differs = saw + "paused. For this process they are not."
		if c.overrides(true) {
			p.Differs += " What this console starts again runs in spite of the pause."
		}
	case last.Effects == ledger.EffectsRunning && here:
		p.Differs = saw + "running. For this process they are paused."
	}
	return p, nil
}
