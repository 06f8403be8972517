package steps

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/storage"
)

// finish gives the requests that no batch will be made of their final lines, and merges the objects of all
// parts: results.jsonl has each key once [J7]. The job has ended with its commit.
func (o Options) finish(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
	j, err := o.job(ctx, task.Operation)
	if err != nil || j.Phase != job.Finishing {
		return nil, err
	}
	f := finishing{Options: o, task: task, job: j.Job, objects: map[string][]storage.Object{}}
	if err := f.gather(ctx); err != nil {
		return nil, err
	}
	j.Counts = j.Counts.Add(f.dropped)
	if j.Counts.Final() != j.Input.Requests {
		return nil, effect.Permanent(fmt.Errorf("%d of %d requests have an outcome: the parts of %s do not add up",
			j.Counts.Final(), j.Input.Requests, j.Key))
	}
	for _, output := range []struct {
		kind string
		to   *job.Object
	}{{files.Results, &j.Output.Results}, {files.Failed, &j.Output.Failed}, {files.Unmatched, &j.Output.Unmatched}} {
		if *output.to, err = f.merge(ctx, output.kind); err != nil {
			return nil, err
		}
	}
	j.Phase = job.Ended
	return []ledger.Write{j.Write()}, nil
}

// A finishing is one attempt at a finish.
type finishing struct {
	Options
	task    effect.Task
	job     job.Job
	objects map[string][]storage.Object // of all parts, by kind
	dropped job.Counts                  // of the parts that no further batch was made of
}

// gather finds the objects of all parts.
func (f *finishing) gather(ctx context.Context) error {
	return files.EachPart(ctx, f.Ledger.Jobs.Parts, f.job.Key, func(p ledger.StoredPart) (err error) {
		if p.State == job.Dropped && p.Counts.Final() < p.Requests {
			if p, err = f.drop(ctx, p); err != nil {
				return err
			}
		}
		if p.State == job.Dropped {
			f.dropped = f.dropped.Add(p.Counts)
		}
		if p.State == job.Dropped || p.State == job.Consumed {
			for _, kind := range []string{files.Results, files.Failed, files.Unmatched} {
				for _, object := range files.Objects(p.Part, kind) {
					f.objects[kind] = append(f.objects[kind], storage.Object(object))
				}
			}
		}
		return nil
	})
}

// drop ends the requests of a part that no batch will be made of.
func (f *finishing) drop(ctx context.Context, p ledger.StoredPart) (ledger.StoredPart, error) {
	sorted := newSorting(ctx, f.Storage, firstOf(f.job, p.Part, f.task.Fence))
	defer sorted.abort()
	end := files.Line{Outcome: job.OutcomeFailed, Why: p.Problem, Attempts: p.Round - 1, Batch: p.Batch}
	if p.Batch != "" {
		end.Attempts = p.Round
	}
	for request, err := range files.Requests(ctx, f.Storage, p.Key, p.Sources) {
		if err == nil {
			end.Key = request.Key
			err = sorted.end(end, request.Body)
		}
		if err != nil {
			return p, err
		}
	}
	p.Counts = job.Counts{Failed: sorted.results.Lines}
	if _, err := sorted.close(&p.Results); err != nil {
		return p, err
	}
	return f.Ledger.Jobs.Save(ctx, f.task.Lease, p)
}

// merge makes one object of all of a kind. An earlier attempt may have made it, of the same objects. Only
// the results are there without a line, too.
func (f *finishing) merge(ctx context.Context, kind string) (job.Object, error) {
	name, parts := files.Output(f.job, kind), f.objects[kind]
	if len(parts) == 0 && kind != files.Results {
		return job.Object{}, nil
	}
	var size int64
	for _, part := range parts {
		size += part.Size
	}
	var made storage.Object
	var err error
	if len(parts) == 0 {
		made, err = f.Storage.Create(ctx, name, strings.NewReader(""))
	} else {
		made, err = f.Storage.Compose(ctx, name, parts)
	}
	if errors.Is(err, storage.ErrExists) {
		made, err = f.Storage.Stat(ctx, name)
	}
	switch {
	case err != nil:
		return job.Object{}, fmt.Errorf("merging the parts of %s: %w", f.job.Key, err)
	case made.Size != size:
		return job.Object{}, effect.Permanent(fmt.Errorf("%s/%s has %d bytes, and the parts of %s have %d: it was not made "+
			"of them; move it away, and replay the effect", f.Storage, name, made.Size, f.job.Key, size))
	}
	return job.Object(made), nil
}
