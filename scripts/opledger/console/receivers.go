package console

import (
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/receivers"
	"github.com/opledger/opledger/shared/ledger"
)

// receiversPath is the page of the effects by who receives them.
const receiversPath = "/console/receivers"

// The most documents of each list that the page reads; an action reads all.
const (
	receiverRows          = 1000
	firestoreReceiverRows = 250
)

// receiverAddress is the page of the effects that a receiver gets; of one that is not known, of all.
func receiverAddress(receiver string) string { return link(receiversPath, "receiver", receiver) }

// shownEffects is how many of a group the page names.
const shownEffects = 5

// receiversPage is what receivers.html shows.
type receiversPage struct {
	Groups  []receiverGroup
	Only    string // the receiver that alone is shown; empty: all are
	Partial bool
	Newest  int          // completions that the rates are of; 0: all
	Open    ledger.Total // of all effects
	Paused  string       // why none is run; empty: they are not paused
	Unpause []remedy
	Broken  []ledger.Broken
}

// A receiverGroup is one group, with what can be done about it.
type receiverGroup struct {
	receivers.Group
	Tone     phrase.Tone
	Errors   []phrase.FailureGroup // of the dead and the failing
	Some     []ledger.Effect       // the first of them
	Remedies []remedy
}

func loadReceivers(c *Console, r *request) (any, error) {
	most := receiverRows
	if !c.options.Location.IsFile() {
		most = firestoreReceiverRows
	}
	all, err := receivers.Read(r, c.ledger, receivers.Options{Most: most, Hosts: c.options.Receivers})
	if err != nil {
		return nil, err
	}
	p := receiversPage{Partial: all.Partial, Broken: all.Broken, Only: r.query.Get("receiver")}
	if all.PartialRates {
		p.Newest = most
	}
	if p.Open, err = c.ledger.Effects.CountOpen(r); err != nil {
		return nil, err
	}
	by, err := c.pause(r)
	if by != "" {
		p.Paused, p.Unpause = by, c.unpause(r, by)
	}
	view := c.view(r)
	view.Paused = by != ""
	for _, group := range all.Groups {
		if p.Only != "" && group.Receiver != p.Only {
			continue
		}
		troubled := append(append([]ledger.Effect{}, group.Dead...), group.Failing...)
		shown := receiverGroup{
			Group: group, Errors: phrase.GroupFailures(troubled), Some: troubled[:min(shownEffects, len(troubled))],
			Remedies: c.remedies(subject{Group: &group, view: view}),
		}
		switch {
		case len(group.Dead) > 0:
			shown.Tone = phrase.Bad
		case len(group.Failing) > 0:
			shown.Tone = phrase.Warn
		}
		p.Groups = append(p.Groups, shown)
	}
	return p, err
}

// Name is who receives the effects, as a heading.
func (g receiverGroup) Name() string {
	if g.Receiver == "" {
		return "no host is named"
	}
	return g.Receiver
}
