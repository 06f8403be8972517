package geminisim

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// Quotas are the limits of a project. A zero field is no limit.
type Quotas struct {
	// MaxBatches is how many batches may be unfinished: 100 at Gemini (documented). A deleted batch
	// counts until it ends. The next creation is answered 429 with RetryInfo.
	MaxBatches int
	// EnqueuedTokens is how many tokens of one model the input of unfinished batches may have, one for
	// four bytes of its requests. A creation beyond is answered like one beyond MaxBatches.
	EnqueuedTokens int64
	// FileBytes is how many bytes uploaded files may have: 20 GB at Gemini (documented). Files of results
	// count as long as they are kept (seen live), here with the size of their batch's input. An upload
	// beyond is answered 429 at its start or its last piece, as seen live with a RetryInfo of centuries.
	FileBytes int64
}

// stillCountsFor is how long a cancelled batch counts where Faults.CancelledStillCount says so.
const stillCountsFor = 48 * time.Hour

// overQuota returns the refusal of a new batch of this model with so many bytes of input, nil if there
// is room. The caller must hold s.mu.
func (s *Sim) overQuota(model string, bytes int64) *Answer {
	q := s.cfg.Quotas
	if q.MaxBatches == 0 && q.EnqueuedTokens == 0 {
		return nil
	}
	batches, enqueued := 0, bytes
	for _, o := range s.operations {
		if o.kind != batchKind || !s.counts(o) {
			continue
		}
		batches++
		if o.model == model {
			enqueued += o.inputBytes()
		}
	}
	if (q.MaxBatches == 0 || batches < q.MaxBatches) && (q.EnqueuedTokens == 0 || enqueued/4 <= q.EnqueuedTokens) {
		return nil
	}
	s.countLocked(func(st *Stats) { st.QuotaRefused++ })
	a := s.rateLimited(OpCreate, 30*time.Second)
	return &a
}

// counts reports whether a batch counts towards the quotas. The caller must hold s.mu.
func (s *Sim) counts(b *operation) bool {
	if b.now.state == StateCancelled && b.plan.stillCounts {
		return s.cfg.Now().Sub(b.now.endTime) < stillCountsFor
	}
	return !b.now.state.Terminal()
}

// inputBytes is how long the requests of a batch are; of a file that was not uploaded here it is 0.
func (b *operation) inputBytes() int64 {
	if b.input != nil {
		return b.input.bytes
	}
	return bytesOf(b.requests)
}

func bytesOf(requests []inlineRequest) (n int64) {
	for _, r := range requests {
		n += int64(len(r.Request))
	}
	return n
}

// overStorage returns the refusal of so many bytes more than there are, nil if there is room. The caller
// must hold s.mu.
func (s *Sim) overStorage(bytes int64) *Answer {
	quota := s.cfg.Quotas.FileBytes
	if quota == 0 {
		return nil
	}
	for _, u := range s.uploads {
		if u.final && !s.isOver(u) {
			bytes += u.size
		}
	}
	for _, o := range s.operations {
		if o.input != nil && o.resultFile(o.now) != "" && !s.cfg.gone(o.now.endTime) {
			bytes += o.input.content.size
		}
	}
	if bytes <= quota {
		return nil
	}
	s.countLocked(func(st *Stats) { st.QuotaRefused++ })
	const metric = "generativelanguage.googleapis.com/file_storage_bytes"
	limit := strconv.FormatInt(quota, 10)
	return &Answer{Status: http.StatusTooManyRequests, Body: errorBody(http.StatusTooManyRequests,
		"You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: "+
			metric+", limit: "+limit,
		map[string]any{
			"@type": "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []any{map[string]any{
				"quotaMetric": metric, "quotaId": "FileStorageBytesPerProject", "quotaValue": limit,
			}},
		},
		map[string]any{
			"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": strconv.Itoa(math.MaxInt64) + "s",
		})}
}
