package console

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// priced is a store that counts what Firestore charges for: each document that is read, each thousand
// that are counted, and at least one for each query.
type priced struct {
	ledger.Store
	reads atomic.Int64
}

func (p *priced) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	p.reads.Add(int64(len(paths)))
	return p.Store.Get(ctx, paths...)
}

func (p *priced) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	found, err := p.Store.Query(ctx, q)
	p.reads.Add(max(1, int64(len(found))))
	return found, err
}

func (p *priced) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	n, err := p.Store.Count(ctx, q, ceiling)
	p.reads.Add(max(1, int64(n+999)/1000))
	return n, err
}

// TestReads: from Firestore no page costs more than 60 reads, however much the ledger has. What no index
// counts costs more, and so is read once: its page has no stream, also for a request that asks for one.
func TestReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := &priced{Store: w.store}
	l, err := ledger.New(store, w.Settings(), ledger.Options{})
	w.do(err)
	for i := range 70 {
		dead, open := operation.Key(fmt.Sprintf("batches/dead%d", i)), operation.Key(fmt.Sprintf("batches/open%d", i))
		w.register(dead, "nightly", "")
		w.register(open, "nightly", "")
		w.register(operation.Key(fmt.Sprintf("batches/pending%d", i)), "nightly", "")
		for _, key := range []operation.Key{dead, open} {
			w.event(key, "m-"+string(key), operation.Succeeded, operation.Webhook)
		}
		w.event(dead, "m-"+string(dead)+"-2", operation.Failed, operation.Webhook)
		w.attempt(dead, func(ctx context.Context, lease ledger.Lease) error {
			return w.Effects.MarkDead(ctx, lease, fmt.Errorf("the receiver answered %d", 400+i%2))
		})
		_, err := w.Quarantine.Add(t.Context(), ledger.Suspect{ID: fmt.Sprint("msg", i), Reason: "malformed"})
		w.do(err)
		_, err = w.Intents.Intend(t.Context(), ledger.Intention{
			Submission: operation.Submission{CorrelationID: fmt.Sprint("night-", i)},
		})
		w.do(err)
	}
	w.submit("jobs/waits", 2, job.Options{})
	w.cut("jobs/waits", 2)
	w.saveStart("jobs/waits", 1, func(p *job.Part) { p.Waits, p.WaitsSince = job.WaitsForAccess, w.now })
	w.submit("jobs/big", 100, job.Options{MaxBatches: 60})
	w.cut("jobs/big", 100)
	w.submit("jobs/small", rows, job.Options{MaxBatches: 1})
	w.cut("jobs/small", rows)
	w.start("jobs/small", 1)
	for i := range 2 * jobRows {
		key := operation.Key(fmt.Sprintf("jobs/night%d", i))
		w.submit(key, 2, job.Options{})
		w.cut(key, 2)
	}
	options := w.console.options
	options.Location = config.Store{}
	options = options.Limited()
	options.Ledger = l.Reading()
	w.console = New(options)
	t.Cleanup(w.console.Close)
	for _, address := range []string{
		"/", jobsPath, jobsPath + "?show=standing", jobsPath + "?show=failed",
		"/console/operations", "/console/operations?show=pending", "/console/operations?show=dead",
		"/console/operations?show=conflict", "/console/operations?state=SUCCEEDED&since=24h", "/console/operation?key=dead1",
		"/console/effects", "/console/effects?show=dead", "/console/intents", "/console/intent?key=night-1",
		"/console/quarantine", "/console/quarantined?key=msg1", "/console/passes", "/console/settings",
		"/console/operation?key=jobs%2Fwaits", "/console/operation?key=jobs%2Fbig",
		"/console/operation?key=jobs%2Fsmall", "/console/parts?key=jobs%2Fbig",
		"/console/operation?key=jobs%2Fsmall%2F00001", "/console/operation?key=batches%2Fsmall-1",
		"/console/operations?collection=jobs",
	} {
		store.reads.Store(0)
		if answer := w.get(address); answer.Code != 200 {
			t.Errorf("%s: %d", address, answer.Code)
		}
		if n := store.reads.Load(); n > 60 {
			t.Errorf("%s costs %d reads", address, n)
		} else {
			t.Logf("%s costs %d reads", address, n)
		}
	}
	for _, filter := range []string{
		"show=conflict&state=SUCCEEDED", "show=conflict&collection=batches", "show=pending&since=24h", "job=night*",
	} {
		address := "/console/operations?" + filter
		if answer := w.get(address); answer.Code != 200 || strings.Contains(answer.Body.String(), "hx-sse:connect") {
			t.Errorf("%s: %d, or a page with a stream", address, answer.Code)
		}
		ctx, leave := context.WithCancel(t.Context())
		leave() // a stream would end at once
		answer := httptest.NewRecorder()
		w.console.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "GET", address+"&live=1", nil))
		if answer.Code != 204 {
			t.Errorf("%s: %d of the stream", address, answer.Code)
		}
	}
}
