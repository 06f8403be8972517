package reconcile

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// A slowList is Gemini's list of one batch, which takes a while for each answer.
type slowList struct {
	takes time.Duration
	asked int // requests; they are made one after the other
}

const slowListed = operation.Key("batches/a")

func (s *slowList) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	select {
	case <-time.After(s.takes):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	body := `{"operations":[{"name":"` + string(slowListed) + `","metadata":{"state":"BATCH_STATE_RUNNING"}}]}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (s *slowList) listing(t *testing.T) *listing {
	t.Helper()
	client, err := lookup.NewClient(lookup.Options{APIKey: "key", HTTP: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	return newListing(client, newPacer())
}

// TestListingTurn: while one caller reads Gemini's list, the time of every other ends when it is
// over, and what was read before is known at once. So a slow list delays no pass beyond its end [R6].
func TestListingTurn(t *testing.T) {
	t.Parallel()
	over := errors.New("the pass is over")
	due := make([]operation.Key, worthAPage)
	for name, call := range map[string]func(context.Context, *listing) error{
		"find": func(ctx context.Context, l *listing) error {
			if answer, found := l.find(ctx, slowListed); found {
				return errors.New("found " + string(answer.State))
			}
			return nil
		},
		"prepare": func(ctx context.Context, l *listing) error {
			l.prepare(ctx, due)
			return nil
		},
		"all": func(ctx context.Context, l *listing) error {
			if _, err := l.all(ctx); !errors.Is(err, over) {
				return errors.Join(errors.New("want the end of the pass"), err)
			}
			return nil
		},
		"known": func(_ context.Context, l *listing) error {
			time.Sleep(time.Second)
			if _, known := l.known(slowListed); known {
				return errors.New("known before it is read")
			}
			return nil
		},
	} {
		t.Run("R6: "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				list := &slowList{takes: 20 * time.Second}
				l := list.listing(t)
				go func() { _, _ = l.find(t.Context(), slowListed) }()
				synctest.Wait() // the list is being read
				began := time.Now()
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, over)
				defer cancel()
				if err := call(ctx, l); err != nil || time.Since(began) != time.Second {
					t.Errorf("R6: %v after %v, want the end of the caller's time", err, time.Since(began))
				}
				if _, found := l.find(t.Context(), slowListed); !found || list.asked != 1 {
					t.Errorf("R6: found %v with %d requests, want what the first caller reads", found, list.asked)
				}
			})
		})
	}
}

// TestListingStops: no page is requested where Gemini's pause outlasts the pass, and the end of the
// pass is the error also where it cut off the last page that may be read [R6].
func TestListingStops(t *testing.T) {
	t.Parallel()
	over := errors.New("the pass is over")
	for name, c := range map[string]struct {
		arrange func(l *listing)
		asked   int
		want    error
	}{
		"R6: paused":    {func(l *listing) { l.pace.note(limited(time.Hour)) }, 0, errNoTime},
		"R6: last page": {func(l *listing) { l.pages = maxPages - 1 }, 1, over},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				list := &slowList{takes: 20 * time.Second}
				l := list.listing(t)
				c.arrange(l)
				ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, over)
				defer cancel()
				if _, err := l.all(ctx); list.asked != c.asked || c.want == errNoTime && !errors.Is(err, errNoTime) ||
					strings.Contains(err.Error(), "more than") {
					t.Errorf("R6: %d requests, %v; want %d, %v", list.asked, err, c.asked, c.want)
				}
			})
		})
	}
}
