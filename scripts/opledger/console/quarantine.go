package console

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

func loadQuarantine(c *Console, r *request) (any, error) {
	after, err := r.after()
	if err != nil {
		return nil, err
	}
	page, err := c.ledger.Quarantine.List(r, ledger.QuarantineFilter{After: after, Limit: rows})
	return listPage[ledger.Quarantined]{
		Rows: page.Items, Broken: page.Broken, pager: r.pager("/console/quarantine", page.Next),
	}, err
}

// quarantinedPage is what quarantined.html shows. The body is text and bytes, and never rendered.
type quarantinedPage struct {
	ledger.Quarantined
	Text, Bytes string
	Size        string
	Cut         bool
	Remedies    []remedy
	Whole       string // the command that prints all of the body
}

// mostShown bounds the bytes of a body that a page shows.
const mostShown = 64 << 10

func loadQuarantined(c *Console, r *request) (any, error) {
	id := r.query.Get(theKey)
	q, body, err := c.ledger.Quarantine.Read(r, id)
	if err != nil {
		return nil, err
	}
	view := c.view(r)
	p := quarantinedPage{
		Quarantined: q, Size: fmt.Sprintf("%d bytes", len(body)), Cut: len(body) > mostShown,
		Remedies: c.remedies(subject{Delivery: &q, view: view}),
		Whole:    "opledger quarantine show " + phrase.ShellWord(id) + " --body" + view.StoreFlag() + " > body.json",
	}
	if p.Cut {
		body = body[:mostShown]
	}
	p.Text, p.Bytes = strings.ToValidUTF8(string(body), "\uFFFD"), hex.Dump(body[:min(len(body), 4<<10)])
	return p, nil
}
