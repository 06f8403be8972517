package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func (d desk) wantCount(q ledger.Query, ceiling, want int) {
	d.Helper()
	got, err := d.store.Count(d.Context(), q, ceiling)
	if err != nil || got != want {
		d.Errorf("Count %+v up to %d: %d, %v, want %d", q, ceiling, got, err, want)
	}
}

var countTests = []storeTest{
	onDesk("up to the ceiling, whatever the limit", func(d desk) {
		d.wantCount(byDue, 10, 0)
		for i := range 5 {
			d.put(effectOf("a", fmt.Sprint(i)), note{DueAt: minute(i)})
		}
		for ceiling, want := range map[int]int{1: 1, 4: 4, 5: 5, 6: 5, 10_000: 5} {
			d.wantCount(byDue, ceiling, want)
		}
		q := byDue
		q.Limit = 2
		d.wantCount(q, 10, 5)
	}),
	onDesk("what the query finds, and nothing else", func(d desk) {
		for i := range 6 {
			d.put(ledger.OperationPath(operation.Key(fmt.Sprint(i))), note{
				CreatedAt: minute(i), State: []string{"PENDING", "RUNNING"}[i%2], Registered: i < 4,
			})
		}
		d.put(ledger.OperationPath("no time"), note{State: "RUNNING", Registered: true})
		d.put(effectOf("a", "x"), note{CreatedAt: noon, State: "RUNNING", Registered: true})
		q := byCreated
		d.wantCount(q, 10, 6)
		q.Where = []ledger.Equal{{Field: "state", Value: "RUNNING"}, {Field: "registered", Value: true}}
		d.wantCount(q, 10, 2)
		q.Where, q.NotAfter = nil, minute(2)
		d.wantCount(q, 10, 3)
		q.NotAfter, q.Descending = time.Time{}, true
		q.After = ledger.Cursor{At: minute(4), Path: ledger.OperationPath("4")}
		d.wantCount(q, 10, 4)
		under := ledger.Query{
			Collection: ledger.EffectsCollection, Under: ledger.OperationPath("a"), OrderBy: ledger.FieldCreatedAt,
		}
		d.wantCount(under, 10, 1)
	}),
	onDesk("a ceiling must be positive", func(d desk) {
		if _, err := d.store.Count(d.Context(), byDue, 0); !errors.Is(err, ledger.ErrInvalid) {
			d.Errorf("Count up to 0: %v, want ErrInvalid", err)
		}
	}),
}
