package reconcile_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness"
)

// A slowStore takes as long as a store beyond a network.
type slowStore struct {
	ledger.Store
	read, commit time.Duration
}

func (s slowStore) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	time.Sleep(s.read)
	return s.Store.Get(ctx, paths...)
}

func (s slowStore) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	time.Sleep(s.read)
	return s.Store.Query(ctx, q)
}

func (s slowStore) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	time.Sleep(s.commit)
	return s.Store.Commit(ctx, writes...)
}

// A farGemini answers every video as one that runs, after some time. It refuses at once what is more than
// perSecond, if that is not 0.
type farGemini struct {
	takes     time.Duration
	perSecond int

	mu       sync.Mutex
	asked    map[string]int
	inFlight int
	second   time.Time
	inSecond int
	refusals []time.Time
	// most is how many were in flight at once, and mostIn in each second.
	most   int
	mostIn map[time.Time]int
}

func (g *farGemini) RoundTrip(r *http.Request) (*http.Response, error) {
	name := strings.TrimPrefix(r.URL.Path, "/v1beta/")
	allowed := g.begin(name)
	takes := g.takes
	if !allowed {
		takes = time.Millisecond
	}
	select {
	case <-time.After(takes):
	case <-r.Context().Done():
	}
	g.mu.Lock()
	g.inFlight--
	g.mu.Unlock()
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	status, body := http.StatusOK, fmt.Sprintf(`{"name":%q}`, name)
	if !allowed {
		status, body = http.StatusTooManyRequests, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (g *farGemini) begin(name string) (allowed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked[name]++
	g.inFlight++
	second := time.Now().Truncate(time.Second)
	if !second.Equal(g.second) {
		g.second, g.inSecond = second, 0
	}
	g.most, g.mostIn[second] = max(g.most, g.inFlight), max(g.mostIn[second], g.inFlight)
	if g.inSecond++; g.perSecond > 0 && g.inSecond > g.perSecond {
		g.refusals = append(g.refusals, time.Now())
		return false
	}
	return true
}

// passOverVideos makes a pass over n due videos in a bubble of synctest, with a store whose reads take 10 ms
// and whose commits take 25.
func passOverVideos(t *testing.T, g *farGemini, n int) (reconcile.Summary, time.Duration) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ledger.db")
	store, err := sqlite.Open(t.Context(), file, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	w := &world{TB: t, file: file, store: store, outbox: &harness.Outbox{}, log: &harness.Log{}}
	w.ledger = w.over(slowStore{store, 10 * time.Millisecond, 25 * time.Millisecond})
	name, err := operation.ParseName("models/veo/operations/abc", "")
	if err != nil {
		t.Fatal(err)
	}
	w.copies(w.registered(name), n-1)
	time.Sleep(grace)
	g.asked, g.mostIn = map[string]int{}, map[time.Time]int{}
	w.client, err = lookup.NewClient(lookup.Options{APIKey: "key", HTTP: &http.Client{Transport: g}})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	got := w.passWith(reconcile.Options{})
	return apartFromAge(got), time.Since(began)
}

// TestLookUpsKeepUp: at 300 ms for each answer of Gemini a pass makes more than 180 look-ups per second, after
// 3.5 s in which it learns that it may. It looks each operation up once, and at most 64 at the same time [R6].
func TestLookUpsKeepUp(t *testing.T) {
	t.Parallel()
	const far = 300 * time.Millisecond
	n := harness.Soak(t, 600, 600, 10_000)
	for _, takes := range harness.Soak(t, []time.Duration{far}, []time.Duration{far},
		[]time.Duration{time.Millisecond, far / 2, far}) {
		t.Run(fmt.Sprint("R6: ", takes), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := &farGemini{takes: takes}
				got, took := passOverVideos(t, g, n)
				if want := (reconcile.Summary{Due: n, Checked: n, Running: n}); got != want {
					t.Errorf("R6: %+v, want %+v", got, want)
				}
				t.Logf("%d look-ups in %v: %.0f per second, %d at once", n, took, float64(n)/took.Seconds(), g.most)
				if longest := 3500*time.Millisecond + time.Duration(n)*time.Second/180; took > longest || g.most > 64 {
					t.Errorf("R6: %d look-ups took %v, %d at once; want %v, and 64 at most", n, took, g.most, longest)
				}
				if len(g.asked) != n {
					t.Errorf("R6: %d operations were looked up, want %d", len(g.asked), n)
				}
			})
		})
	}
}

// TestLookUpsBackOff: where Gemini refuses more than 60 requests per second, a pass asks half as fast after its
// pause, and few look-ups are refused. What was refused is not asked again in the same pass [R6].
func TestLookUpsBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 500
		g := &farGemini{takes: 300 * time.Millisecond, perSecond: 60}
		got, took := passOverVideos(t, g, n)
		refused := len(g.refusals)
		if want := (reconcile.Summary{Due: n, Checked: n, Running: n - refused, Unknown: refused}); got != want {
			t.Errorf("R6: %+v, want %+v", got, want)
		}
		t.Logf("%d look-ups in %v, %d refused", n, took, refused)
		if refused == 0 || refused > n/10 || took > 25*time.Second || len(g.asked) != n {
			t.Errorf("R6: %d of %d look-ups were refused in %v", refused, len(g.asked), took)
		}
		before := g.refusals[0].Truncate(time.Second)
		after := before.Add(2 * time.Second) // the pause
		const first = 8                      // may be asked at once after a pause
		if g.mostIn[after] > g.mostIn[before]/2+first+first/4 {
			t.Errorf("R6: %d in flight when refused, and %d after the pause", g.mostIn[before], g.mostIn[after])
		}
	})
}
