package console

import (
	"errors"
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/receivers"
	"github.com/opledger/opledger/shared/ledger"
)

// effectsPage is what effects.html shows.
type effectsPage struct {
	listPage[ledger.Effect]
	Show    string
	Error   string         // only dead effects whose last error contains it
	Groups  []failureGroup // of the dead effects of this page
	Total   string         // how many operations have a dead effect
	Replay  command        // that replays all of these dead effects
	Once    string         // when that is sensible
	Paused  string         // why none is run, and how to end that; empty: they are not paused
	Unpause []remedy
}

// A failureGroup is the effects of a page that died of the same.
type failureGroup struct {
	phrase.FailureGroup
	Address string // of the page of these alone
	Partial bool   // there may be more than its Count
}

// A command is the line that does something to all that a filter finds, and the same to try first.
type command struct{ Try, Line string }

// bulk returns the command for a filter, written as its flags.
func bulk(line, storeFlag string) command {
	return command{Try: line + " --dry-run" + storeFlag, Line: line + storeFlag}
}

// deadRows is of how many operations a page shows the dead effects: each is a document of its own.
const deadRows = 20

func loadEffects(c *Console, r *request) (any, error) {
	p := effectsPage{Show: r.query.Get("show")}
	after, err := r.after()
	if err != nil {
		return p, err
	}
	switch p.Show {
	case "":
		page, err := c.ledger.Effects.Open(r, after, rows)
		for _, due := range page.Items {
			p.Rows = append(p.Rows, due.Effect)
		}
		p.Broken, p.pager = page.Broken, r.pager("/console/effects", page.Next)
		by, pauseErr := c.pause(r)
		if by != "" {
			p.Paused, p.Unpause = by, c.unpause(r, by)
		}
		return p, errors.Join(err, pauseErr)
	case "dead":
		err := p.loadDead(c, r, after)
		return p, err
	default:
		return p, bad("show: %q is neither empty nor dead", p.Show)
	}
}

func (p *effectsPage) loadDead(c *Console, r *request, after ledger.Cursor) error {
	p.Error = r.query.Get("error")
	page, err := receivers.Dead(r, c.ledger, after, deadRows)
	p.Rows = slices.DeleteFunc(page.Items, func(e ledger.Effect) bool { return !strings.Contains(e.LastError, p.Error) })
	p.Broken = page.Broken
	p.Groups = failureGroups(phrase.GroupFailures(p.Rows), false, deadAddress)
	p.Once = onceAgain(p.Rows)
	line := "opledger replay --dead"
	if p.Error != "" {
		line += " --error " + phrase.ShellWord(p.Error)
	}
	p.Replay = bulk(line, c.view(r).StoreFlag())
	p.pager = r.pager("/console/effects", page.Next, "show", "dead", "error", p.Error)
	if err != nil {
		return err
	}
	total, err := c.ledger.Operations.Count(r, ledger.Filter{Dead: true})
	p.Total = total.String()
	return err
}

// onceAgain says when to run effects again: once their receiver answers, where they have one in common.
func onceAgain(dead []ledger.Effect) string {
	var hosts []string
	for _, e := range dead {
		hosts = append(hosts, phrase.Receiver(e.LastError))
	}
	slices.Sort(hosts)
	if hosts = slices.Compact(hosts); len(hosts) == 1 && hosts[0] != "" {
		return "Once " + hosts[0] + " answers as it should"
	}
	return "Once the cause is gone"
}

// deadAddress is the address of the dead effects of one group.
func deadAddress(g phrase.FailureGroup) string {
	return link("/console/effects", "show", "dead", "error", g.Contains)
}

// failingAddress is the address of the effects of a group that are tried again, with who receives them.
func failingAddress(g phrase.FailureGroup) string { return receiverAddress(phrase.Receiver(g.Failure)) }
