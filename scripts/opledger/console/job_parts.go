package console

import (
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A partRow is a part in a table of parts. It has plain fields alone: a page shows a thousand of them, and a template
// takes ten times as long to find a field of a field, or to call a function.
type partRow struct {
	Number, Round          int
	State                  job.State
	Tone                   phrase.Tone
	Releasing              bool // it was released, and its batch is not given up yet
	Requests, Done, ToSend string
	Age, Waits             string
	Batch                  string // its id; empty: none yet
	Path, BatchPath        string // the addresses of the pages
	Release                string // the address of the question whether to release it; empty: this page cannot
}

// A partView is a part as a page shows it.
type partView struct{ job.Part }

// Job is the key of the part's job.
func (p partView) Job() operation.Key {
	of, _, _ := operation.ParsePart(string(p.Key))
	return of
}

// Piece is the part that this one is a piece of; empty: of none.
func (p partView) Piece() operation.Key {
	if p.Root == 0 {
		return ""
	}
	return operation.PartKey(p.Job(), p.Root)
}

// ToSend is how many requests are sent again in another batch.
func (p partView) ToSend() int64 {
	requests, _ := job.Total(p.Again)
	return requests
}

// Age says for how long the part's batch has run, or the part has waited to become one; empty: neither.
func (p partView) Age(now time.Time) string {
	switch {
	case !p.State.Open():
		return ""
	case p.StartedAt.IsZero():
		return phrase.Span(now.Sub(p.CreatedAt))
	default:
		return phrase.Span(now.Sub(p.StartedAt))
	}
}

// ownTurn is what a part waits for whose turn has not come, where no more is known.
const ownTurn = "its turn"

// WaitWords are waitWords for the page of the part, which knows no more of its turn.
func (p partView) WaitWords(now time.Time) string { return p.waitWords(now, ownTurn) }

// waitWords say what the part waits for and for how long, and what is wrong with it; empty: nothing.
func (p partView) waitWords(now time.Time, turn string) (words string) {
	switch {
	case p.Waits != "":
		words = phrase.WaitsFor(p.Waits) + ", for " + phrase.Span(now.Sub(p.WaitsSince))
	case p.State == job.Planned:
		words = turn + ", for " + phrase.Span(now.Sub(p.CreatedAt))
	}
	if p.Problem != "" {
		words = strings.TrimSpace(words + " " + phrase.Readable(p.Problem))
	}
	return words
}

// Tokens are as those of a job.
func (p partView) Tokens() string { return tokens(p.Usage) }

// File is the part's input at Gemini; nil: it has none.
func (p partView) File() *job.File {
	if len(p.Files) == 0 {
		return nil
	}
	return &p.Files[len(p.Files)-1]
}

// partRows are rows of these parts, with what can be done about each. turn is what one waits for that is planned.
func (c *Console) partRows(r *request, parts []ledger.StoredPart, turn string) (all []partRow) {
	act, _ := find(release)
	for _, stored := range parts {
		p := partView{stored.Part}
		row := partRow{
			Number: p.Number, Round: p.Round, State: p.State, Tone: phrase.StateTone(p.State),
			Releasing: p.Released != nil && p.State != job.Released, Requests: phrase.Number(p.Requests),
			Done: phrase.Number(p.Counts.Done), ToSend: phrase.Number(p.ToSend()), Age: p.Age(r.now),
			Waits: p.waitWords(r.now, turn), Path: operationAddress(p.Key),
		}
		if p.Batch != "" {
			row.Batch, row.BatchPath = p.Batch.ID(), operationAddress(p.Batch)
		}
		s := subject{Record: operation.Record{Key: p.Key}, Part: &p.Part, view: c.view(r)}
		if act.can(s) && c.allows(act) {
			row.Release = act.question(s)
		}
		all = append(all, row)
	}
	return all
}

// A partsPage is what job_parts.html shows: parts of a job in the order of their numbers.
type partsPage struct {
	listPage[partRow]
	Job operation.Key
}

func loadParts(c *Console, r *request) (any, error) {
	key := operation.Key(r.query.Get(theKey))
	after, err := r.after()
	if err != nil {
		return nil, err
	}
	if key.Collection() != operation.Jobs {
		return nil, bad("key: %q is no job, such as jobs/nightly", key)
	}
	if _, err := c.ledger.Jobs.Read(r, key); err != nil {
		return nil, err
	}
	page, err := c.ledger.Jobs.Parts(r, key, after, c.options.Parts)
	return partsPage{Job: key, listPage: listPage[partRow]{
		Rows: c.partRows(r, page.Items, ownTurn), Broken: page.Broken,
		pager: r.pager(partsPath, page.Next, theKey, string(key)),
	}}, err
}
