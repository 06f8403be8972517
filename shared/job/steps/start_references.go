package steps

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
)

// refuse ends the requests of the part that name a file or a cache which is gone; the others become another part. Each
// was found gone before the round, and is looked up once more: the end is final [J15]. Without writes nothing of the
// part ends for that.
func (s *starting) refuse(ctx context.Context) ([]ledger.Write, error) {
	gone, err := s.gone(ctx)
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	out, failed, copies := s.writer(ctx, files.Results), s.writer(ctx, files.Failed), s.writer(ctx, "pieces")
	defer func() { _, _, _ = out.Abort(), failed.Abort(), copies.Abort() }() // they were closed, or an error is returned
	s.part.Results = job.Results{}
	for line, err := range files.Lines(ctx, s.Storage, s.part.Sources) {
		if err != nil {
			return nil, err
		}
		request, err := job.SplitLine(line)
		if err != nil {
			return nil, fmt.Errorf("reading the requests of %s: %w", s.part.Key, err)
		}
		end := files.Line{Key: request.Key, Outcome: job.OutcomeRefused, Attempts: s.part.Round - 1}
		job.ReferencesIn(request.Body, func(name string) {
			if why := gone[name]; end.Why == "" {
				end.Why = why
			}
		})
		if end.Why == "" {
			if err := copies.Copy(line); err != nil {
				return nil, err
			}
			continue
		}
		s.part.Counts.Refused++
		s.part.Failures = job.WithFailures(s.part.Failures,
			job.Failure{Key: end.Key, Outcome: end.Outcome, Why: end.Why})
		if err := out.Line(end); err != nil {
			return nil, err
		}
		end.Request = request.Body
		if err := failed.Line(end); err != nil {
			return nil, err
		}
	}
	return s.refusedFor(ctx, out, failed, copies)
}

func (s *starting) writer(ctx context.Context, kind string) *files.Writer {
	return files.NewWriter(ctx, s.Storage, files.Of(s.job, s.part.Number, s.task.Fence, kind, 1))
}

// refusedFor returns the write of a part whose requests have ended that name what is gone.
func (s *starting) refusedFor(ctx context.Context, out, failed, copies *files.Writer) ([]ledger.Write, error) {
	for _, written := range []struct {
		from *files.Writer
		to   *[]job.Object
	}{{out, &s.part.Final}, {failed, &s.part.Failed}} {
		object, _, err := written.from.Close()
		if err != nil {
			return nil, err
		}
		*written.to = []job.Object{object}
	}
	requests := copies.Lines
	object, some, err := copies.Close()
	if err != nil {
		return nil, err
	}
	s.part.Pieces = nil
	if some {
		s.part.Pieces = []job.Source{{Object: object.Name, Length: object.Size, Requests: requests}}
	}
	s.deleteInputs(ctx, s.part.Part)
	s.part.State, s.part.Unreferenced = job.Refused, true
	s.part.Problem = fmt.Sprintf("%d of its requests name what Gemini does not have any more", s.part.Counts.Refused)
	s.part.Waits, s.part.WaitsSince = "", time.Time{}
	return []ledger.Write{s.part.Write()}, nil
}

// gone returns, by its name, why each reference of the part's requests cannot be used that Gemini does not have.
func (s *starting) gone(ctx context.Context) (map[string]string, error) {
	known := s.job.References
	if known.Gone == 0 && (known.Expires.IsZero() || s.Now().Before(known.Expires)) {
		return nil, nil
	}
	if err := s.asks(); err != nil {
		return nil, err
	}
	all, err := readReferences(ctx, s.Storage, known.List)
	if err != nil {
		return nil, err
	}
	suspected := map[string]*reference{}
	for i := range all {
		if all[i].expired(s.Now()) {
			suspected[all[i].Name] = &all[i]
		}
	}
	var due []*reference
	for line, err := range files.Lines(ctx, s.Storage, s.part.Sources) {
		if err != nil {
			return nil, err
		}
		request, err := job.SplitLine(line)
		if err != nil {
			return nil, fmt.Errorf("reading the requests of %s: %w", s.part.Key, err)
		}
		job.ReferencesIn(request.Body, func(name string) {
			if r := suspected[name]; r != nil {
				delete(suspected, name)
				due = append(due, r)
			}
		})
	}
	if err := s.lookUp(ctx, due, s.part.Round); err != nil {
		return nil, s.refused(ctx, fmt.Errorf("%w: %w", batches.ErrRefused, err))
	}
	gone := map[string]string{}
	for _, r := range due {
		if r.Gone {
			gone[r.Name] = r.why()
		}
	}
	return gone, nil
}

// why says why a request that names the reference is refused.
func (r reference) why() string {
	if r.Expires.IsZero() {
		return "it names " + r.Name + ", which Gemini does not have any more, or not in this project"
	}
	return "it names " + r.Name + ", which Gemini does not have any more; it was to expire " +
		r.Expires.UTC().Format(time.RFC3339)
}
