package open

import (
	"context"
	"io"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
)

// followsPause reports whether a command that runs effects, or leaves them to serve, keeps the pause of another
// process: none runs them but such a command and serve, and no variable says what the command is to do. For what is
// left to serve a variable of the command counts nothing.
func followsPause(outside terminal.Environment, where Location, left bool) bool {
	return where.Topic == "" && (left || !setsPause(outside))
}

// setsPause reports whether a variable of the command says whether effects are paused.
func setsPause(outside terminal.Environment) bool {
	return config.Variables(outside.Variables)["OPLEDGER_EFFECTS_PAUSED"] != ""
}

// ownPauseNote says why that variable counts nothing for what is left to serve.
const ownPauseNote = "OPLEDGER_EFFECTS_PAUSED counts nothing here: OPLEDGER_EFFECTS is not set, so that serve runs " +
	"the effects, and its own pause counts"

// pauseNote says that no effects are run because another process has paused them, and what ends that.
func pauseNote(where Location, left bool) string {
	const note = "effects are paused, as the ledger says: what this command starts waits until the pause ends; "
	if left {
		return note + "opledger resume --effects" + phrase.StoreFlag(where.Named()) + " ends it"
	}
	return note + "OPLEDGER_EFFECTS_PAUSED=false runs it all the same"
}

// NotePauseOfServe says on stderr whether serve runs the effects of what it did for a command: its own pause counts, as
// the ledger says, and no variable of the command. Of a ledger that cannot be read nothing is said: the work is done.
func (l Location) NotePauseOfServe(ctx context.Context, outside terminal.Environment) {
	if setsPause(outside) {
		outside.Note("OPLEDGER_EFFECTS_PAUSED counts nothing here: serve runs the effects, and its own pause counts")
	}
	var last ledger.Pass
	quiet := terminal.Environment{Store: l.Absolute().String(), Err: io.Discard}
	err := Reader(ctx, quiet, func(opened *ledger.Ledger) (err error) {
		last, _, err = opened.Passes.Last(ctx)
		return err
	})
	if err == nil && last.Effects == ledger.EffectsPaused {
		outside.Note("effects are paused, as the ledger says: serve runs none until the pause ends; opledger resume "+
			"--effects%s ends it", phrase.StoreFlag(l.Named()))
	}
}
