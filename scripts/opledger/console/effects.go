package console

import (
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// effectsPage is what effects.html shows.
type effectsPage struct {
	listPage[ledger.Effect]
	Show   string
	Groups []phrase.FailureGroup // of the dead effects of this page
	Replay string                // the command that replays all dead effects
}

// deadRows is of how many operations a page shows the dead effects: each is a document of its own.
const deadRows = 25

func loadEffects(c *Console, r *request) (any, error) {
	p := effectsPage{Show: r.query.Get("show")}
	after, err := r.after()
	if err != nil {
		return p, err
	}
	switch p.Show {
	case "":
		page, err := c.ledger.OpenEffects(r, after, rows)
		for _, due := range page.Items {
			p.Rows = append(p.Rows, due.Effect)
		}
		p.Broken, p.Next = page.Broken, nextPage("/console/effects", page.Next)
		return p, err
	case "dead":
		page, err := c.deadEffects(r, after, deadRows)
		p.Rows, p.Broken, p.Groups = page.Items, page.Broken, phrase.GroupFailures(page.Items)
		p.Replay = "opledger replay --dead" + c.view(r).StoreFlag()
		if next := nextPage("/console/effects", page.Next); next != "" {
			p.Next = next + "&show=dead"
		}
		return p, err
	default:
		return p, bad("show: %q is neither empty nor dead", p.Show)
	}
}

// deadEffects reads the dead effects of the newest operations that have one. limit is that of the
// operations.
func (c *Console) deadEffects(r *request, after ledger.Cursor, limit int) (page ledger.Page[ledger.Effect], err error) {
	records, err := c.ledger.List(r, ledger.Filter{Dead: true, After: after, Limit: limit})
	if err != nil {
		return page, err
	}
	page.Next = records.Next
	page.Items, page.Broken, err = c.ledger.DeadEffects(r, records.Items)
	page.Broken = append(records.Broken, page.Broken...)
	return page, err
}
