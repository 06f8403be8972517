package ledger

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// A ModelQuota is what Gemini's refusals say of how many tokens of a model it takes at once.
type ModelQuota struct {
	// RefusedAt is when Gemini first refused a batch with 429 since it was last seen to have one of the model; IdleAt is
	// when a list was read since then that has none.
	RefusedAt time.Time `json:"refusedAt,omitzero" firestore:"refusedAt,omitempty"`
	IdleAt    time.Time `json:"idleAt,omitzero" firestore:"idleAt,omitempty"`
	// PerBatch is how many tokens a batch may have, of all jobs, since HalvedAt.
	PerBatch int64     `json:"perBatch,omitempty" firestore:"perBatch,omitempty"`
	HalvedAt time.Time `json:"halvedAt,omitzero" firestore:"halvedAt,omitempty"`
}

const (
	// halveEvery is the least time between two halvings: a refusal may have another reason, which passes.
	halveEvery = time.Hour
	// halvedFor is for how long a batch may have no more: the project's limit may have been raised.
	halvedFor = 7 * 24 * time.Hour
)

// seen returns m after Gemini was seen to have a batch of the model, or none, at a time.
func (m ModelQuota) seen(busy bool, at time.Time) ModelQuota {
	switch {
	case busy:
		m.RefusedAt, m.IdleAt = time.Time{}, time.Time{}
	case !m.RefusedAt.IsZero() && m.IdleAt.IsZero() && at.After(m.RefusedAt):
		m.IdleAt = operation.Instant(at)
	}
	return m
}

// allowed returns what Gemini takes of a model at once, as far as it is known.
func (s RunningBatches) allowed(model string, settings Settings, now time.Time) job.Allowed {
	l := job.Allowed{Quota: settings.EnqueuedTokens[model]}
	if m := s.Models[model]; now.Sub(m.HalvedAt).Abs() < halvedFor { // one that is ahead: the clock was set back
		l.PerBatch = m.PerBatch
	}
	return l
}

// Allowed returns what Gemini takes at once of the model with this name, as far as it is known.
func (l Jobs) Allowed(ctx context.Context, model string) (job.Allowed, error) {
	s, _, now, err := l.running(ctx)
	return s.allowed(job.ModelName(model), l.settings, now), err
}

// TooLarge decides, after Gemini has refused the batch of a part with 429, whether that is above what it takes at once
// by itself, so that waiting does not help: it is larger than the limits that are known; or a list was read since the
// first of such refusals that has no batch of the model, and this one is refused still. Then it halves what a batch of
// the model may hold, of all jobs, once an hour at most. A part of a hundred requests is never too large by that.
func (l Jobs) TooLarge(ctx context.Context, of job.Job, p job.Part) (large bool, err error) {
	err = l.retry(ctx, "comparing "+string(p.Key)+" with the quota", func(int) error {
		stored, doc, now, err := l.running(ctx)
		if err != nil {
			return err
		}
		s := stored.without("", nil, true)
		model := job.ModelName(of.Options.Model)
		m := s.Models[model]
		half, divisible := of.Halve(p)
		if large = of.Exceeds(p, s.allowed(model, l.settings, now)); large || !divisible {
			return nil
		}
		switch {
		case m.RefusedAt.IsZero(), m.RefusedAt.After(now): // the clock was set back since
			m.RefusedAt, m.IdleAt = now, time.Time{}
		case m.IdleAt.IsZero() || now.Sub(m.HalvedAt).Abs() < halveEvery:
			return nil
		default:
			m, large = ModelQuota{PerBatch: half, HalvedAt: now}, true
		}
		s.Models[model] = m
		return l.commit(ctx, s.changed(stored, doc)...)
	})
	return large, err
}
