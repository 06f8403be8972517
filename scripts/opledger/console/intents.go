package console

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A listPage is what a list of one kind shows.
type listPage[T any] struct {
	Rows   []T
	Broken []ledger.Broken
	pager
}

// A pager has the addresses of the pages round a page of a list; empty where there is none.
type pager struct{ Prev, Next string }

// firstPage stands for the page without a cursor among those before a page.
const firstPage = "first"

// mostBefore is of how many pages before it a page knows the addresses.
const mostBefore = 20

// pager returns the pages round the request's, whose own address has these other names and values. The address of a
// page has the cursors of those before it.
func (r *request) pager(path string, next ledger.Cursor, pairs ...string) (p pager) {
	address := func(after string, before []string) string {
		if after == firstPage {
			after = ""
		}
		before = before[max(0, len(before)-mostBefore):]
		return link(path, append(pairs[:len(pairs):len(pairs)], "after", after, "before", strings.Join(before, "."))...)
	}
	before := strings.FieldsFunc(r.query.Get("before"), func(c rune) bool { return c == '.' })
	if n := len(before); n > 0 {
		p.Prev = address(before[n-1], before[:n-1])
	}
	if next.Path != "" {
		this := cmp.Or(r.query.Get("after"), firstPage)
		p.Next = address(phrase.Cursor(next), append(before[:len(before):len(before)], this))
	}
	return p
}

// after is the cursor in a request's query.
func (r *request) after() (ledger.Cursor, error) {
	c, err := phrase.ParseCursor(r.query.Get("after"))
	if err != nil {
		return c, bad("after: %w", err)
	}
	return c, nil
}

func loadIntents(c *Console, r *request) (any, error) {
	after, err := r.after()
	if err != nil {
		return nil, err
	}
	page, err := c.ledger.Intents.Waiting(r, after, rows)
	p := listPage[ledger.Intent]{Broken: page.Broken, pager: r.pager("/console/intents", page.Next)}
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
	if decision, decided := intent.Decision(); decided {
		p.Decided = &decision
	}
	p.Remedies = append(p.Remedies, c.remedies(subject{Intent: &intent, view: c.view(r)})...)
	return p, nil
}

// intentActions are what can be done to an intent that waits for its operation.
var intentActions = []action{
	{
		name: "abandon-intent", label: "Abandon", about: ofIntent, who: true, why: true,
		command: "opledger intent abandon NAME --reason 'WHY'",
		title:   func(s subject) string { return fmt.Sprintf("Abandon the intent %s?", s.Intent.CorrelationID) },
		happens: []string{
			"If nothing was submitted: the waiting ends, and no operator is needed. Who decided, when and why is recorded.",
			"What appears all the same is bound to it until it expires.",
		},
		can: func(s subject) bool {
			if s.Intent == nil || !s.Intent.Waiting() {
				return false
			}
			_, decided := s.Intent.Decision()
			return !decided
		},
		do: decided(func(s subject) string { return s.Intent.CorrelationID }, (*actions.Actions).AbandonIntent),
	},
	{
		name: "forget-intent", label: "Forget", about: ofIntent, command: "opledger intent forget NAME",
		title: func(s subject) string { return fmt.Sprintf("Delete the intent %s for good?", s.Intent.CorrelationID) },
		happens: []string{
			"If nothing was submitted, and nothing of it may be kept. It is deleted, and nothing brings it back.",
			"What appears all the same is not registered, and runs no effect.",
		},
		can: func(s subject) bool { return s.Intent != nil && s.Intent.Waiting() },
		do: func(ctx context.Context, a *actions.Actions, s subject, _ decision) (outcome, error) {
			words, err := a.ForgetIntent(ctx, *s.Intent)
			return outcome{Words: words}, err
		},
	},
}
