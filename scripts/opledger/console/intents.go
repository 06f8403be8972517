package console

import (
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A listPage is what a list of one kind shows.
type listPage[T any] struct {
	Rows   []T
	Broken []ledger.Broken
	Next   string // the address of the next page; empty at the end
}

// after is the cursor in a request's query.
func (r *request) after() (ledger.Cursor, error) {
	c, err := phrase.ParseCursor(r.query.Get("after"))
	if err != nil {
		return c, bad("after: %w", err)
	}
	return c, nil
}

// nextPage is the address of the page behind a cursor; empty behind the last.
func nextPage(path string, next ledger.Cursor) string {
	if next.Path == "" {
		return ""
	}
	return link(path, "after", phrase.Cursor(next))
}

func loadIntents(c *Console, r *request) (any, error) {
	after, err := r.after()
	if err != nil {
		return nil, err
	}
	page, err := c.ledger.Intents.Waiting(r, after, rows)
	p := listPage[ledger.Intent]{Broken: page.Broken, Next: nextPage("/console/intents", page.Next)}
	for _, due := range page.Items {
		p.Rows = append(p.Rows, due.Intent)
	}
	return p, err
}

// An intentPage is what intent.html shows.
type intentPage struct {
	ledger.Intent
	Decided  *operation.Decided // the operator's; nil: none
	Remedies []remedy
	ShowLine string        // the command that prints the same
	Part     operation.Key // whose batch it announces; empty: it is a submitter's
}

func loadIntent(c *Console, r *request) (any, error) {
	id := r.query.Get(theKey)
	intent, err := c.ledger.Intents.Read(r, id)
	if err != nil {
		return nil, err
	}
	word, store := phrase.ShellWord(id), c.view(r).StoreFlag()
	p := intentPage{Intent: intent, ShowLine: "opledger intent show " + word + store}
	if _, _, isPart := operation.ParsePart(id); isPart {
		p.Part = operation.Key(id)
	}
	if !intent.Waiting() || p.Part != "" { // what can be done about a part is on its own page
		return p, nil
	}
	p.Remedies = []remedy{{
		Label: "Register its operation", Line: "opledger register NAME --correlation-id " + word + store,
		Explains: "If the submitter's log has the name that Gemini gave. The intent is then bound to it.",
	}}
	decision, decided := intent.Decision()
	if decided {
		p.Decided = &decision
	} else {
		p.Remedies = append(p.Remedies, remedy{
			Label: "Abandon", Line: "opledger intent abandon " + word + " --reason 'WHY'" + store,
			Explains: "If nothing was submitted. The waiting ends, and no operator is needed. What appears all the same is " +
				"bound to it until it expires.",
		})
	}
	p.Remedies = append(p.Remedies, remedy{
		Label: "Forget", Line: "opledger intent forget " + word + store,
		Explains: "If nothing was submitted, and nothing of it may be kept. What appears all the same is not registered.",
	})
	return p, nil
}
