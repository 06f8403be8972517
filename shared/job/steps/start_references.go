package steps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
)

// refuse ends the requests of the part that name a file or a cache which is gone; the others become another part. Each
// was found gone by the job's last look-up, and is looked up once more: the end is final [J15]. Without writes nothing
// of the part ends for that.
func (s *starting) refuse(ctx context.Context) ([]ledger.Write, error) {
	suspects, expired, err := s.suspects(ctx)
	if err != nil {
		return nil, err
	}
	if expired != "" {
		return s.lookedUpAgain(ctx, expired), nil
	}
	gone, err := s.gone(ctx, suspects)
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	sorted := newSorting(ctx, s.Storage, firstOf(s.job, s.part.Part, s.task.Fence))
	defer sorted.abort()
	s.part.Results = job.Results{}
	for request, err := range files.Requests(ctx, s.Storage, s.part.Key, s.part.Sources) {
		if err != nil {
			return nil, err
		}
		end := files.Line{Key: request.Key, Outcome: job.OutcomeRefused, Attempts: s.part.Round - 1}
		job.ReferencesIn(request.Body, func(name string) {
			end.Why = cmp.Or(end.Why, gone[name])
		})
		if end.Why == "" {
			err = sorted.rest.Copy(request.Line)
		} else {
			s.part.Counts.Refused++
			s.part.Failures = job.WithFailures(s.part.Failures,
				job.Failure{Key: end.Key, Outcome: end.Outcome, Why: end.Why})
			err = sorted.end(end, request.Body)
		}
		if err != nil {
			return nil, err
		}
	}
	rest, err := sorted.close(&s.part.Results)
	if err != nil {
		return nil, err
	}
	return s.unreferenced(ctx, rest,
		fmt.Sprintf("%d of its requests name what Gemini does not have any more", s.part.Counts.Refused)), nil
}

// lookedUpAgain returns the write of a part that names what has expired since the job's last look-up. Whether it is
// gone is not known, nor was the job held for it. So nothing of the part ends: all of it becomes another part, before
// which what has expired is looked up again [J15].
func (s *starting) lookedUpAgain(ctx context.Context, expired string) []ledger.Write {
	return s.unreferenced(ctx, s.part.Sources, expired+" has expired since it was looked up, and is looked up again")
}

// unreferenced returns the write of a part that is not sent as it is; the rest of its requests becomes another part.
func (s *starting) unreferenced(ctx context.Context, rest []job.Source, problem string) []ledger.Write {
	s.part.Unreferenced, s.part.Problem = true, problem
	return s.endAs(ctx, s.part, rest)
}

// suspects returns the references of the part's requests that the job's last look-up found gone; or in their place the
// name of one that was there then, and has expired since. That is decided by the ledger's clock, as it is when a
// look-up is due.
func (s *starting) suspects(ctx context.Context) (gone []*reference, expired string, err error) {
	known := s.job.References
	if known.Gone == 0 && !expiredAt(known.Expires, s.at) {
		return nil, "", nil
	}
	all, err := readReferences(ctx, s.Storage, known.List)
	if err != nil {
		return nil, "", err
	}
	suspected := map[string]*reference{}
	for i := range all {
		if r := &all[i]; r.Gone || r.expired(s.at) {
			suspected[r.Name] = r
		}
	}
	for request, err := range files.Requests(ctx, s.Storage, s.part.Key, s.part.Sources) {
		if err != nil {
			return nil, "", err
		}
		job.ReferencesIn(request.Body, func(name string) {
			if r := suspected[name]; r != nil && !r.Gone {
				expired = name
			} else if r != nil {
				delete(suspected, name)
				gone = append(gone, r)
			}
		})
		if expired != "" {
			return nil, expired, nil
		}
	}
	return gone, "", nil
}

// gone looks references up that were found gone, and returns by its name why each cannot be used that still is.
func (s *starting) gone(ctx context.Context, suspects []*reference) (map[string]string, error) {
	if len(suspects) == 0 {
		return nil, nil //nolint:nilnil // none is gone
	}
	if err := s.asks(); err != nil {
		return nil, err
	}
	switch err := s.lookUp(ctx, suspects, s.part.Round, s.at); {
	case errors.Is(err, errSlow): // by this process's own limit: Gemini has refused nothing
		return nil, effect.Postpone(err, s.paced(whileRefused))
	case err != nil:
		return nil, s.undecided(ctx, err)
	}
	gone := map[string]string{}
	for _, r := range suspects {
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
