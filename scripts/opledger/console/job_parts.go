package console

import (
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A partRow is a part in a table of parts.
type partRow struct {
	partView
	Release string // the address of the question whether to release it; empty: this page cannot
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

// Free reports whether the part waits for its turn: for a free batch, or for tokens.
func (p partView) Free() bool { return p.State == job.Planned && p.Waits == "" }

// Tokens are as those of a job.
func (p partView) Tokens() string { return tokens(p.Usage) }

// File is the part's input at Gemini; nil: it has none.
func (p partView) File() *job.File {
	if len(p.Files) == 0 {
		return nil
	}
	return &p.Files[len(p.Files)-1]
}

// partRows are rows of these parts, with what can be done about each.
func (c *Console) partRows(r *request, parts []ledger.StoredPart) (all []partRow) {
	act, _ := find(release)
	for _, p := range parts {
		row := partRow{partView: partView{p.Part}}
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
	page, err := c.ledger.Jobs.Parts(r, key, after, rows)
	p := partsPage{Job: key, listPage: listPage[partRow]{Rows: c.partRows(r, page.Items), Broken: page.Broken}}
	if page.Next.Path != "" {
		p.Next = link(partsPath, theKey, string(key), "after", phrase.Cursor(page.Next))
	}
	return p, err
}
