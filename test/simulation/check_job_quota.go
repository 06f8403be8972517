package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// places checks that the parts which count as batches that run have no more tokens together than the quota, by an
// estimate of its own: their share of what was estimated for the input, or a token for four bytes, and at most the
// quota for one request.
func (c *checker) places(s ledger.RunningBatches) {
	quota, tokens := c.w.settings.EnqueuedTokens[simulatedModel], int64(0)
	for _, key := range keysOf(s.Parts) {
		p, ok := c.w.partOf(key)
		if !ok || quota == 0 {
			continue
		}
		of, _, _ := operation.ParsePart(string(key))
		j, _ := c.w.jobOf(of)
		each := 0.25
		if j.Input.Tokens > 0 {
			each = float64(j.Input.Tokens) / float64(j.Input.Bytes)
		}
		tokens += min(quota, int64(float64(p.Bytes)*each))
	}
	c.must(quota == 0 || tokens <= quota, "%d parts have %d tokens together, of %d [J10]", len(s.Parts), tokens, quota)
}

// keysOf returns the keys of the parts that count as batches that run.
func keysOf(parts map[string]time.Time) (keys []operation.Key) {
	for id := range parts {
		keys = append(keys, operation.Key(strings.ReplaceAll(id, ":", "/")))
	}
	return keys
}

// running returns what the store has of the batches that run.
func (c *checker) running() ledger.RunningBatches {
	s, _ := dataOf[ledger.RunningBatches](c.w.store.documents[ledger.PassesCollection+"/batches"])
	return s
}

// leastHalved are the tokens of a hundred requests, of which each has 12 at least: a batch may always have as many.
const leastHalved = 100 * 12

// halved checks a commit that halves what a batch of the model may hold: an hour after the last time or later, not
// below a hundred requests, and only where a list without a batch of the model was read since Gemini refused one [J10].
func (c *checker) halved(was, is ledger.RunningBatches) {
	before, after := was.Models[simulatedModel], is.Models[simulatedModel]
	if after.PerBatch == before.PerBatch {
		return
	}
	c.w.gate.met[metHalved]++
	now := time.Now()
	c.must(c.halvedAt.IsZero() || now.Sub(c.halvedAt) >= time.Hour || len(c.w.store.clock.sets) > 0,
		"a batch may have %d tokens, and %v ago it could have %d [J10]", after.PerBatch, now.Sub(c.halvedAt), before.PerBatch)
	c.halvedAt = now
	c.must(after.PerBatch >= leastHalved, "a batch may have no more than %d tokens [J10]", after.PerBatch)
	c.must(!before.RefusedAt.IsZero(), "a batch may have %d tokens, and none was refused [J10]", after.PerBatch)
	c.must(len(c.w.store.clock.sets) > 0 || slices.ContainsFunc(c.w.gemini.listed, func(l listed) bool {
		return l.idle && !l.at.Before(before.RefusedAt)
	}), "a batch may have %d tokens, and no list was without one since %v [J10]", after.PerBatch, before.RefusedAt)
}

// A listed is a list of batches that Gemini has answered.
type listed struct {
	at   time.Time // by the store's clock
	idle bool      // it has no batch that is unfinished, or was cancelled in the last two days
}

// list notes that Gemini answers the list of its batches as of a time.
func (s *service) list(at time.Time) {
	const cancelledFor = 48 * time.Hour
	s.listed = append(s.listed, listed{at: s.w.store.now(), idle: !slices.ContainsFunc(s.batches, func(b *batch) bool {
		state, since := b.state(at)
		return !b.created.After(at) && (!state.Terminal() || state == operation.Cancelled && at.Sub(since) < cancelledFor)
	})})
}

// crowded reports whether the unfinished batches of jobs leave no room for so many tokens.
func (s *service) crowded(tokens int64) bool {
	for _, b := range s.batches {
		if state, _ := b.state(s.now()); b.made != nil && !state.Terminal() {
			tokens += b.tokens
		}
	}
	return s.tokens > 0 && tokens > s.tokens
}
