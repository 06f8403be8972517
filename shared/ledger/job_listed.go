package ledger

import (
	"context"
	"maps"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// A Listed is a batch in Gemini's list that is unfinished, or may count towards its model's quota all the same.
type Listed struct {
	CorrelationID string // empty: it has none
	Model         string // empty: Gemini does not say
	// Doubtful: it was cancelled in the last 48 hours, for which its tokens may count, or its state is not clear. It does
	// not count as unfinished.
	Doubtful bool
}

// CountListed records how many batches Gemini has unfinished beside those of parts that count as running: they,
// too, count towards Gemini's limit. It also records of which models there are none, which decides whether a refused
// batch is too large [J10]. listed is of a list that was read after began. What is recorded counts until a few
// intervals have passed without another call. It returns the job that has waited longest for room, where there is some.
func (l Jobs) CountListed(ctx context.Context, began time.Time, listed []Listed) (next operation.Key, err error) {
	err = l.retry(ctx, "counting the batches of others", func(int) error {
		stored, doc, now, err := l.running(ctx)
		if err != nil {
			return err
		}
		s := stored.without("", nil, true)
		s.Schema, s.Version, s.Others, s.ListedAt = max(s.Schema, jobSchema), s.Version+1, 0, now
		models := map[string]bool{}
		for _, b := range listed {
			models[job.ModelName(b.Model)] = true
			if _, counted := s.Parts[escapeID(b.CorrelationID)]; !counted && !b.Doubtful {
				s.Others++
			}
		}
		for name, m := range s.Models {
			s.Models[name] = m.seen(models[name] || models[""], began)
		}
		next = s.next("", l.settings, now)
		// A pass that overlaps another writes nothing, nor does one while there are no others.
		known := s.Others == stored.Others && (s.Others == 0 || now.Sub(stored.ListedAt) < l.settings.Interval/2)
		if known && maps.Equal(s.Models, stored.Models) {
			return nil
		}
		return l.commit(ctx, Write{Path: doc.Path, Token: doc.Token, Data: s})
	})
	return next, err
}
