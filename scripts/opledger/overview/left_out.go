package overview

import (
	"context"
	"errors"
	"fmt"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// ForwardEffect is the name of the effect that --forward-to of serve stands for.
const ForwardEffect = "forward"

// A LeftOut is an effect that a start left out, with what ended meanwhile.
type LeftOut struct {
	ledger.LeftOut
	// Ended counts the operations that ended without it, of the newest that ended meanwhile. Partial: more ended
	// meanwhile than were read.
	Ended   int  `json:"ended"`
	Partial bool `json:"partial,omitempty"`
}

// readLeftOut reads the effects that were left out, unless an operator has resolved that.
func (o *Overview) readLeftOut(ctx context.Context, l ledger.Reading, most int) error {
	all, err := l.Effects.LeftOut(ctx)
	if _, broken := errors.AsType[ledger.Broken](err); broken {
		return nil // what opens the ledger says so
	}
	if err != nil {
		return err
	}
	for _, effect := range all {
		if effect.Resolved != nil {
			continue
		}
		page, err := l.Operations.List(ctx, ledger.Filter{Without: effect, Limit: most})
		if err != nil {
			return err
		}
		o.Broken = append(o.Broken, page.Broken...)
		o.LeftOut = append(o.LeftOut, LeftOut{effect, len(page.Items), page.Next.Path != ""})
	}
	return nil
}

// judgeLeftOut adds each effect that is left out; and each that was, while operations are without it.
func (o *Overview) judgeLeftOut(options Options, add adder) {
	for _, effect := range o.LeftOut {
		if !effect.Lasts() && effect.Ended == 0 && !effect.Partial {
			continue
		}
		name := phrase.ShellWord(effect.Rule.Name)
		command, words := "list --without "+name, LeftOutWords(effect.LeftOut, options.File)
		if effect.Ended > 0 || effect.Partial {
			words += "; " + effect.endedWords()
		}
		if !effect.Lasts() {
			command, words = "replay --without "+name, effect.endedWords()+": the command plans it for them"
		}
		add(true, AboutLeftOut, command, "%s; where that is meant, opledger resolve --without %s%s --reason TEXT ends this",
			words, name, options.StoreFlag).Effect = effect.Rule.Name
	}
}

// endedWords say how many operations ended without the effect, and when.
func (e LeftOut) endedWords() string {
	words := AtLeast(e.Partial, phrase.Counted(e.Ended, "operation")) + " ended"
	if e.Ended == 0 {
		words = "operations ended, of the newest none"
	}
	if e.Lasts() {
		return words + " without it since"
	}
	return fmt.Sprintf("%s without the effect %s, which no process planned from %s to %s", words,
		phrase.Safe(e.Rule.Name), phrase.LocalTime(e.Since), phrase.LocalTime(e.Until))
}

// LeftOutWords say of an effect that is left out since when, and how it is given again. file: the ledger is a file,
// which serve works on.
func LeftOutWords(effect ledger.LeftOut, file bool) string {
	how, again := "in OPLEDGER_EFFECTS", "deploy again"
	if effect.Rule.Name == ForwardEffect {
		how = "by --forward-to, or " + how
	}
	if file {
		again = "start serve again"
	}
	return fmt.Sprintf("%s began at %s without the effect %s, which was planned before: %s with it %s",
		phrase.Safe(effect.By), phrase.LocalTime(effect.Since), phrase.Safe(effect.Rule.Name), again, how)
}
