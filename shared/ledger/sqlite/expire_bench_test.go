package sqlite

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// BenchmarkExpire deletes a million documents that have expired, while another caller commits one document
// after the other: how long it takes, and how long one of these commits waited at most [L3].
func BenchmarkExpire(b *testing.B) {
	const documents, perCommit = 1_000_000, 500
	for range b.N {
		b.StopTimer()
		s, err := Open(b.Context(), filepath.Join(b.TempDir(), "ledger.db"), time.Now)
		if err != nil {
			b.Fatal(err)
		}
		gone := expiring{fmt.Sprintf("%0250d", 0), time.Now()}
		for first := 0; first < documents; first += perCommit {
			writes := make([]ledger.Write, perCommit)
			for i := range writes {
				writes[i] = ledger.Write{Path: ledger.Path(fmt.Sprint("operations/", first+i)), Data: gone}
			}
			if _, err := s.Commit(b.Context(), writes...); err != nil {
				b.Fatal(err)
			}
		}
		var over atomic.Bool
		waits := make(chan [2]time.Duration, 1)
		go func() { waits <- commits(b, s, &over) }()
		b.StartTimer()
		n, err := s.Expire(b.Context())
		b.StopTimer()
		over.Store(true)
		waited := <-waits
		if n != documents || err != nil {
			b.Errorf("L3: deleted %d of %d, %v", n, documents, err)
		}
		b.ReportMetric(waited[0].Seconds()*1000, "ms/commit")
		b.ReportMetric(waited[1].Seconds()*1000, "ms/longest-commit")
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}
}

// commits commits one document after the other until it is over, and returns how long one took in the
// mean, and at most.
func commits(b *testing.B, s *Store, over *atomic.Bool) [2]time.Duration {
	var sum, longest time.Duration
	n := 0
	for ; n == 0 || !over.Load(); n++ {
		began := time.Now()
		write := ledger.Write{Path: ledger.Path(fmt.Sprint("intents/", n)), Data: expiring{Text: "x"}}
		if _, err := s.Commit(b.Context(), write); err != nil {
			b.Error(err)
			break
		}
		took := time.Since(began)
		sum, longest = sum+took, max(longest, took)
	}
	return [2]time.Duration{sum / time.Duration(max(n, 1)), longest}
}
