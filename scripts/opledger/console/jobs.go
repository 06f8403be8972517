package console

import (
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// jobsPath is the path of the list of jobs.
const jobsPath = "/console/jobs"

// jobRows is how many jobs a page of the list has. With a count each costs three reads at most on Firestore: its
// record, its plan and one of its open parts.
const jobRows = 16

// jobsPage is what jobs.html shows.
type jobsPage struct {
	listPage[jobRow]
	Show  string // as chosen
	Shows []choice
	Total string // how many the filter finds in all; empty: no index counts them
	Empty string // what an empty list means
	Store string // what commands end with
}

// A jobRow is a job in the list.
type jobRow struct {
	*jobView
	// Planned: the ledger has the job's plan; else its record alone is left.
	Planned bool
}

// jobShows are the filters of the list.
var jobShows = []choice{
	{"", "All"}, {"open", "Not ended"}, {"standing", "Held or waiting"}, {"succeeded", "Succeeded"}, {"failed", "Failed"},
	{"cancelled", "Cancelled"},
}

// jobStates are the states of a job's record that a filter chooses: it is PENDING until the job has ended.
var jobStates = map[string][]operation.State{
	"open": {operation.Pending}, "standing": {operation.Pending}, "succeeded": {operation.Succeeded},
	"failed": {operation.Failed}, "cancelled": {operation.Cancelled},
}

// jobsEmpty says what an empty list means.
var jobsEmpty = map[string]string{
	"": "The ledger has no jobs yet.", "open": "No job runs.", "standing": "No job is held, and none waits.",
	"succeeded": "No job has succeeded.", "failed": "No job has failed.", "cancelled": "No job was cancelled.",
}

func loadJobs(c *Console, r *request) (any, error) {
	p := jobsPage{Show: r.query.Get("show"), Shows: jobShows, Store: c.view(r).StoreFlag()}
	after, err := r.after()
	if err != nil {
		return nil, err
	}
	if p.Empty = jobsEmpty[p.Show]; p.Empty == "" {
		return nil, bad("show: %q is none of open, standing, succeeded, failed and cancelled", p.Show)
	}
	filter := ledger.Filter{Collection: operation.Jobs, States: jobStates[p.Show], After: after, Limit: jobRows}
	page, err := c.ledger.Operations.List(r, filter)
	if err != nil {
		return p, err
	}
	p.Broken, p.pager = page.Broken, r.pager(jobsPath, page.Next, "show", p.Show)
	err = p.read(c, r, page.Items)
	if p.Show == "standing" {
		p.Rows = slices.DeleteFunc(p.Rows, func(row jobRow) bool { return row.Standing == nil })
		if p.Next != "" {
			p.Empty = "Of the jobs that were read none is held, and none waits. There are more."
		}
		return p, err
	}
	total, countErr := c.ledger.Operations.Count(r, filter)
	p.Total = total.String()
	return p, errors.Join(err, countErr)
}

// read reads how far each of the jobs is.
func (p *jobsPage) read(c *Console, r *request, records []operation.Record) error {
	running, err := c.ledger.Jobs.Running(r)
	if err != nil {
		return err
	}
	var group errgroup.Group
	p.Rows = make([]jobRow, len(records))
	broken := make([][]ledger.Broken, len(records))
	for i, rec := range records {
		group.Go(func() (err error) {
			p.Rows[i], broken[i], err = c.jobRow(r, rec, running)
			return err
		})
	}
	err = group.Wait()
	p.Broken = slices.Concat(append([][]ledger.Broken{p.Broken}, broken...)...)
	return err
}

// jobRow reads a job for the list: what its first open part waits for, and not all parts.
func (c *Console) jobRow(
	r *request, rec operation.Record, running ledger.RunningBatches,
) (jobRow, []ledger.Broken, error) {
	store := c.view(r).StoreFlag()
	row := jobRow{jobView: newJobView(progress.Progress{Key: rec.Key, State: rec.State, CreatedAt: rec.CreatedAt}, store)}
	j, err := c.ledger.Jobs.Read(r, rec.Key)
	if unreadable, is := errors.AsType[ledger.Broken](err); is {
		return row, []ledger.Broken{unreadable}, nil
	}
	if err != nil {
		return row, nil, unlessExpired(err)
	}
	var open []ledger.StoredPart
	if !rec.Settled() {
		page, err := c.ledger.Jobs.OpenParts(r, rec.Key, ledger.Cursor{}, c.options.OpenParts)
		if err != nil {
			return row, nil, err
		}
		open = page.Items
	}
	row.jobView, row.Planned = newJobView(progress.Of(j.Job, rec, open, running), store), true
	row.Batches.Running = running.Of(rec.Key)
	return row, nil, nil
}
