package overview

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// A Serve is what is known of the opledger serve that works on a ledger in a file.
type Serve struct {
	State ServeState `json:"state"`
	// URL is where it is silent.
	URL string `json:"url,omitempty"`
	// Unperformable is what it cannot perform now.
	Unperformable []Unperformable `json:"-"` // it is among the problems
}

// A ServeState is whether opledger serve runs; empty: that is not known.
type ServeState string

// The states of opledger serve.
const (
	ServeRuns   ServeState = "runs"
	ServeNone   ServeState = "none"   // nothing listens where it would
	ServeGone   ServeState = "gone"   // the same, and the last one did not end by itself: it crashed, or was killed
	ServeSilent ServeState = "silent" // it takes connections, and answers none: it hangs, or its process is stopped
)

// An Unperformable is something that a serve cannot do now, by its settings.
type Unperformable struct {
	Words    string `json:"words"`
	Playbook string `json:"playbook"`
	// Unwritten: it cannot write the ledger, so that no pass ends and no effect is run.
	Unwritten bool `json:"unwritten,omitempty"`
}

// Down reports whether no serve works on the ledger.
func (s Serve) Down() bool {
	return s.State == ServeNone || s.State == ServeGone || s.State == ServeSilent
}

// stuck reports whether nothing can be done on the ledger: what is late is so because of that.
func (s Serve) stuck() bool { return s.Down() || s.cannotWrite() }

// cannotWrite reports whether one runs, and cannot write the ledger.
func (s Serve) cannotWrite() bool {
	return slices.ContainsFunc(s.Unperformable, func(u Unperformable) bool { return u.Unwritten })
}

// Words say what is wrong with one that is Down.
func (s Serve) Words() string {
	const nothing = ": nothing is received, looked up or performed"
	switch s.State {
	case ServeSilent:
		return "opledger serve on " + phrase.Safe(s.URL) + " does not answer: it hangs, or its process is stopped"
	case ServeGone:
		return "opledger serve crashed, or was killed, and none runs on this ledger" + nothing
	default:
		return "no opledger serve runs on this ledger" + nothing
	}
}

// start is the command that starts one; empty: the silent one has its port, and must be ended first.
func (s Serve) start() string {
	if s.State == ServeSilent {
		return ""
	}
	return "serve"
}

// Again says how an operator has serve again: what it was started with decides what it does. storeFlag follows the
// command. A silent one has the port, and is ended first.
func (s Serve) Again(storeFlag string) string {
	words := "start opledger serve" + storeFlag + " with its variables and flags, such as --port and --forward-to"
	if s.State == ServeSilent {
		return "end its process, and then " + words
	}
	return words
}

// judgeServe adds that no serve works on the ledger, with what is late because of that: a problem. Where serve was
// stopped in order it is a note while nothing is late: it may be about to start again, or passes are made by commands.
func (o *Overview) judgeServe(interval time.Duration, late func(time.Time) bool, problem, note adder) {
	if !o.Serve.Down() {
		return
	}
	words := append([]string{o.Serve.Words()}, o.behind(interval, late)...)
	add := problem
	if o.Serve.State == ServeNone && len(words) == 1 {
		add = note
	}
	if o.Serve.start() != "" {
		words = append(words, o.Serve.Again(""))
	}
	add(true, AboutServe, o.Serve.start(), "%s", strings.Join(words, "; "))
}

// judgeUnperformable adds what the serve that runs cannot do. That it cannot write the ledger is one problem, with what
// comes of that.
func (o *Overview) judgeUnperformable(interval time.Duration, late func(time.Time) bool, add adder) {
	for _, found := range o.Serve.Unperformable {
		words := []string{phrase.Safe(found.Words)}
		if found.Unwritten {
			words = append(words, o.behind(interval, late)...)
		}
		if found.Unwritten && o.passUnwritten() {
			words = append(words, "the last pass could not handle "+phrase.Counted(o.LastPass.Errors, "document"))
		}
		add(true, AboutSettings, "", "%s", strings.Join(words, "; ")).Playbook = found.Playbook
	}
}

// behind says what is late while nothing can be done on the ledger.
func (o *Overview) behind(interval time.Duration, late func(time.Time) bool) (words []string) {
	if o.passIsLate(interval) {
		words = append(words, o.latePass(interval))
	}
	if late(o.Pending.DueSince) {
		words = append(words, "a look-up is due for "+o.since(o.Pending.DueSince))
	}
	if since := o.Effects.ClaimableSince; late(since) && !o.Paused {
		words = append(words, "effects could have been run for "+o.since(since))
	}
	return words
}

// passUnwritten reports whether the last pass had errors, and the first of them is that the store did not take or give
// something.
func (o *Overview) passUnwritten() bool {
	return o.LastPass.Outcome == ledger.PassErrors && strings.Contains(o.LastPass.Error, ledger.ErrUnavailable.Error())
}

// passIsLate reports whether the last pass ended too long ago.
func (o *Overview) passIsLate(interval time.Duration) bool {
	return !o.LastPass.IsZero() && o.At.Sub(o.LastPass.Ended) >= LateAfter(interval)
}

// latePass says so.
func (o *Overview) latePass(interval time.Duration) string {
	return fmt.Sprintf("the last pass ended %s ago, and one is made every %s", o.since(o.LastPass.Ended),
		phrase.Span(interval))
}

// endsPause is the command that ends the pause of effects, and what is to be done. The command asks serve, which must
// answer. Of a deployment a setting ends it, and the command shows what waits.
func (o *Overview) endsPause(file bool) (command, do string) {
	switch {
	case o.Serve.Down():
		return o.Serve.start(), "start opledger serve again, without OPLEDGER_EFFECTS_PAUSED"
	case file:
		return "resume --effects", "end the pause once you can"
	default:
		return show(o.Effects.First), "end the pause once you can"
	}
}
