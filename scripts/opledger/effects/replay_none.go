package effects

import (
	"fmt"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/operation"
)

// noneOfSeveral says why a selection of several operations has no effect to run again.
func (s replaySelection) noneOfSeveral() string {
	switch {
	case s.dead:
		return "no selected effect is dead"
	case s.rerun:
		return "no selected operation has an effect"
	default:
		return "no selected effect is open or dead; --rerun runs done effects once more"
	}
}

// noneOf says why the one operation that was named has no effect to run again.
func (s replaySelection) noneOf(rec operation.Record) string {
	key, what := phrase.Safe(string(rec.Key)), "every effect"
	if s.effect != "" {
		what = "the effect " + phrase.Safe(s.effect)
	}
	withheld, waived := "", ""
	for name, status := range rec.Effects {
		switch status {
		case operation.EffectWithheld:
			withheld = name
		case operation.EffectWaived:
			waived = name
		}
	}
	switch {
	case s.dead:
		return key + " has no dead effect"
	case rec.Version > 0 && !rec.Registered:
		return fmt.Sprintf("%s is not registered, so it has no effects; opledger register %s%s registers it", key,
			phrase.ShellWord(string(rec.Key)), s.store)
	case rec.Version > 0 && !rec.Settled():
		return fmt.Sprintf("%s is %s; its effects are planned when it ends", key, rec.State)
	case len(rec.Effects) == 0:
		return fmt.Sprintf("%s is %s, and no rule has planned an effect for that", key, rec.State)
	case withheld != "":
		return "only what is withheld is left; --effect " + phrase.ShellWord(withheld) + " runs it"
	case waived != "" && !s.rerun:
		return "only what is waived is left; --effect " + phrase.ShellWord(waived) + " runs it"
	case !s.rerun:
		return fmt.Sprintf("%s of %s is done; --rerun runs it once more", what, key)
	default:
		return key + " has no effect that can be rerun"
	}
}
