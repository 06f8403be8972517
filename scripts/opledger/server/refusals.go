package server

import (
	"context"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// storeRefusalsEvery is how often what the webhook refused is stored at most, whatever callers send. A pass that
// settles something stores it, too: then it may be Gemini's own deliveries that are refused.
const storeRefusalsEvery = time.Minute

// storeRefusalsWithin bounds that write when the server ends.
const storeRefusalsWithin = 2 * time.Second

// A refusals counts in memory what the webhook refused since the last write [W1]: a caller that is not
// authenticated costs neither a write of its own nor memory.
type refusals struct {
	mu      sync.Mutex
	counted ledger.Refusals
	none    bool // the ledger holds no refusal, so that an accepted delivery is no news
}

// count counts a delivery that was refused for a reason; empty: that was accepted.
func (r *refusals) count(refused string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case refused != "":
		r.counted.Refuse(refused, now)
	case !r.none || r.counted.Count > 0:
		r.counted.Accept(now)
	}
}

// countDelivery counts a delivery that was refused for a reason; empty: that was accepted.
func (s *Server) countDelivery(refused string) {
	s.refusals.count(refused, s.options.Now())
	if refused != "" && s.metrics != nil {
		s.metrics.CountRefused(refused)
	}
}

// take returns what was counted, and counts from zero.
func (r *refusals) take() ledger.Refusals {
	r.mu.Lock()
	defer r.mu.Unlock()
	counted := r.counted
	r.counted = ledger.Refusals{}
	return counted
}

// stored takes what the ledger holds then, or puts what could not be stored back.
func (r *refusals) stored(counted, holds ledger.Refusals, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.none = holds.Count == 0
		return
	}
	counted.Add(r.counted)
	r.counted = counted
}

// keepRefusals stores what the webhook refused once a minute, until ctx ends, and then once more.
func (s *Server) keepRefusals(ctx context.Context) {
	tick := time.Tick(storeRefusalsEvery)
	for {
		select {
		case <-tick:
			s.storeRefusals(ctx)
		case <-ctx.Done():
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeRefusalsWithin)
			defer cancel()
			s.storeRefusals(ending)
			return
		}
	}
}

// storeRefusals makes no request where nothing was counted.
func (s *Server) storeRefusals(ctx context.Context) {
	counted := s.refusals.take()
	if counted == (ledger.Refusals{}) {
		return
	}
	holds, err := s.Ledger.Passes.AddRefusals(ctx, counted, s.options.Now())
	s.refusals.stored(counted, holds, err)
	if err != nil {
		s.options.Log.WarnContext(ctx, "what the webhook refused could not be stored, and is kept", "error", err)
	}
}
