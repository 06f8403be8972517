package ledgertest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// keep quarantines s.
func (w *world) keep(s ledger.Suspect) {
	w.Helper()
	if kept, err := w.ledger().Quarantine.Add(w.ctx, s); err != nil || !kept {
		w.Fatalf("Quarantine: %v, %v", kept, err)
	}
}

// listQuarantined returns the ids that f finds, page by page of two, and checks that no body comes
// with them.
func (w *world) listQuarantined(f ledger.QuarantineFilter) []string {
	w.Helper()
	var ids []string
	for f.Limit = 2; ; {
		page, err := w.ledger().Quarantine.List(w.ctx, f)
		if err != nil {
			w.Fatalf("Quarantine.List %+v: %v", f, err)
		}
		for _, q := range page.Items {
			ids = append(ids, q.ID)
			if q.Body != nil || q.Parts != 1 || q.Detail == "" {
				w.Errorf("listed: %+v", q)
			}
		}
		if page.Next.Path == "" {
			return ids
		}
		if f.After = page.Next; len(ids) > 100 {
			w.Fatal("the list does not end")
		}
	}
}

var quarantineList = join([]ledgerTest{
	{"the quarantine is listed, newest first, by reason [W6]", func(w *world) {
		for i := range 5 {
			s := suspect(fmt.Sprint("d", i))
			if i%2 == 1 {
				s.Reason = "unknown-type"
			}
			w.keep(s)
			w.store.Advance(time.Second)
		}
		for reason, want := range map[string][]string{
			"": {"d4", "d3", "d2", "d1", "d0"}, "unknown-type": {"d3", "d1"}, "no-name": {"d4", "d2", "d0"}, "nothing": nil,
		} {
			if got := w.listQuarantined(ledger.QuarantineFilter{Reason: reason}); !slices.Equal(got, want) {
				w.Errorf("reason %q: %q, want %q", reason, got, want)
			}
		}
	}},
	{"of the headers some are kept, never a signature [W6, W1]", func(w *world) {
		s := suspect("d1")
		s.Headers = map[string]string{
			"Webhook-Id": "d1", "webhook-timestamp": "1700000000", "Content-Type": strings.Repeat("é", 500),
			"User-Agent":        "\xff",
			"Webhook-Signature": "v1,secret", "Authorization": "Bearer secret", "X-Anything": "else",
		}
		w.keep(s)
		q, _, err := w.ledger().Quarantine.Read(w.ctx, "d1")
		if err != nil {
			w.Fatal(err)
		}
		names := slices.Sorted(maps.Keys(q.Headers))
		if !slices.Equal(names, []string{"content-type", "user-agent", "webhook-id", "webhook-timestamp"}) {
			w.Errorf("kept: %q", names)
		}
		if q.Headers["webhook-id"] != "d1" || len(q.Headers["content-type"]) > 310 {
			w.Errorf("kept: %q", q.Headers)
		}
	}},
	{"a delivery that was ingested later records that, and stays until its retention ends [W6]", func(w *world) {
		s := suspect("d1")
		w.keep(s)
		before, _, err := w.ledger().Quarantine.Read(w.ctx, "d1")
		if err != nil {
			w.Fatal(err)
		}
		for _, outcome := range []ledger.Outcome{"quarantined", ledger.Applied} {
			w.store.Advance(time.Hour)
			if err := w.ledger().Quarantine.MarkRetried(w.ctx, "d1", outcome); err != nil {
				w.Fatalf("MarkRetried: %v", err)
			}
			q, body, err := w.ledger().Quarantine.Read(w.ctx, "d1")
			if err != nil || !bytes.Equal(body, s.Body) {
				w.Errorf("%d bytes of the body came back of %d, %v", len(body), len(s.Body), err)
			}
			equal(w, "outcome", q.Outcome, outcome)
			near(w, "retried", w.now().Sub(q.RetriedAt), 0)
			equal(w, "expires", q.ExpireAt.Equal(before.ExpireAt), true)
		}
		if kept, err := w.ledger().Quarantine.Add(w.ctx, s); err != nil || kept {
			w.Errorf("the same delivery again: %v, %v", kept, err)
		}
		if err := w.ledger().Quarantine.MarkRetried(w.ctx, "d2", ledger.Applied); !errors.Is(err, ledger.ErrNotFound) {
			w.Errorf("what is not there: %v, want ErrNotFound", err)
		}
	}},
	{"one record is read without its story", func(w *world) {
		if _, err := w.ledger().Operations.Read(w.ctx, w.name.Key); !errors.Is(err, ledger.ErrNotFound) {
			w.Errorf("what is not there: %v, want ErrNotFound", err)
		}
		w.succeed()
		counting := Count(w.store)
		rec, err := w.over(counting).Operations.Read(w.ctx, w.name.Key)
		if err != nil || rec.Key != w.name.Key || rec.Version != w.record().Version {
			w.Errorf("%+v, %v", rec, err)
		}
		equal(w, "read", counting.Counts(), Counts{Gets: 1, Read: 1})
	}},
}, lostly("MarkRetried: recorded [W6]", func(w *world, l *ledger.Ledger) {
	w.keep(suspect("d1"))
	if err := l.Quarantine.MarkRetried(w.ctx, "d1", ledger.Applied); err != nil {
		w.Errorf("MarkRetried: %v", err)
	}
	equal(w, "outcome", w.quarantined()[0].Outcome, ledger.Applied)
}))
