package webhook

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// loggedRefusals is how many refusals of one reason are logged in a minute, each in a line of its own.
// Alerts ask for three at most. A flood of 10,000 forged requests a second would cost hundreds of
// dollars a day of log otherwise.
const loggedRefusals = 20

// A sampler decides which refusals of an instance are logged, and counts the others. Nothing runs in
// the background: the counts of a minute are logged with the first request after it, and are lost if
// the instance ends before.
type sampler struct {
	mu     sync.Mutex
	minute time.Time
	seen   map[string]int // refusals of the minute, by reason
}

// refused reports whether to log a refusal. now is the time at which it was refused, not that at which its
// request began: a slow body would turn the minute back, and every turn lets 20 more be logged.
func (s *sampler) refused(ctx context.Context, log *slog.Logger, reason string, now time.Time) bool {
	s.turn(ctx, log, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen, s.minute = map[string]int{}, now.Truncate(time.Minute)
	}
	s.seen[reason]++
	return s.seen[reason] <= loggedRefusals
}

// turn logs how many refusals of a minute that is over were not logged, a line for each reason.
func (s *sampler) turn(ctx context.Context, log *slog.Logger, now time.Time) {
	s.mu.Lock()
	over, minute := s.seen, s.minute
	if over == nil || now.Truncate(time.Minute).Equal(minute) {
		s.mu.Unlock()
		return
	}
	s.seen = nil
	s.mu.Unlock()
	for _, reason := range slices.Sorted(maps.Keys(over)) {
		if more := over[reason] - loggedRefusals; more > 0 {
			log.WarnContext(ctx, "more deliveries were refused than are logged one by one", "event", "refusals",
				"reason", reason, "refused", more, "minute", minute)
		}
	}
}
