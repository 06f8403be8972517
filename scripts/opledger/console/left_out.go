package console

import (
	"errors"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// resolveLeftOut is the name of what ends that an effect is left out.
const resolveLeftOut = "resolve-left-out"

// leftOutActions are what can be done about an effect that a start left out.
var leftOutActions = []action{{
	name: resolveLeftOut, label: "Resolve", about: ofLeftOut, command: "opledger resolve --without NAME --reason 'WHY'",
	who: true, why: true,
	title: func(s subject) string { return "Leave out the effect " + s.LeftOut.Rule.Name + " on purpose?" },
	happens: []string{
		"The effect needs no operator for being left out. Who resolved it, when and why is recorded.",
		"Operations that ended without it stay without it, unless opledger replay plans it for them.",
	},
	can: func(s subject) bool { return s.LeftOut != nil && s.LeftOut.Resolved == nil },
	do:  decided(func(s subject) string { return s.LeftOut.Rule.Name }, (*actions.Actions).ResolveLeftOut),
}}

// leftOutLink is the list of the operations that ended without an effect.
func leftOutLink(effect string) string { return link(operationsPath, "without", effect) }

// leftOutSeen says how an effect is left out.
func leftOutSeen(o ledger.LeftOut) string {
	switch {
	case o.Resolved != nil:
		return "resolved by " + phrase.Safe(o.Resolved.By)
	case o.Lasts():
		return "left out since " + phrase.LocalTime(o.Since)
	default:
		return "planned again since " + phrase.LocalTime(o.Until)
	}
}

// readWithout reads which effect the operations of the page ended without.
func (p *operationsPage) readWithout(c *Console, r *request) (err error) {
	if p.Filter.Without.IsZero() {
		return nil
	}
	p.Filter.Without, err = c.ledger.Effects.FindLeftOut(r, p.Without)
	if errors.Is(err, ledger.ErrNotLeftOut) {
		p.Without = ""
		return bad("without: %w", err)
	}
	return err
}

// adviseWithout is what can be done about the effect that the operations of the page ended without.
func (p *operationsPage) adviseWithout(c *Console, r *request) {
	effect := p.Filter.Without
	if effect.IsZero() {
		return
	}
	view := c.view(r)
	if !effect.Lasts() {
		p.ForAll = &bulkCommand{
			bulk("opledger replay --without "+phrase.ShellWord(p.Without), view.StoreFlag()), "It plans the effect for each.",
		}
	}
	p.Remedies = c.remedies(subject{LeftOut: &effect, view: view})
}

// WithoutWords say of the list which effect is not there, and why.
func (p operationsPage) WithoutWords() string { return leftOutSeen(p.Filter.Without) }
