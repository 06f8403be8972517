package register

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/operation"
)

const (
	// readPath is before the name of the operation that is read.
	readPath = "/operations/"
	// resultsPath is behind that name, where its results are asked for.
	resultsPath = "/results"
	// maxWait is how long a reader may wait: shorter than the function's timeout.
	maxWait = 30 * time.Second
	// firstStep is the time between the first two reads of a record that a reader waits for. Each step is stepGrowth
	// times the one before it, up to mostStep: what ends soon is known soon, and a long wait is not many reads.
	firstStep  = 250 * time.Millisecond
	stepGrowth = 4
	mostStep   = 2500 * time.Millisecond
	// retryAfter is what a reader is to wait who may not wait here.
	retryAfter = 2 * time.Second
	// mostWaits is how many requests may wait at once in one process. Deployed, one takes 80 at once: the
	// others are left to registrations.
	mostWaits = 20
)

// A reader answers GET /operations/{name}, such as /operations/batches/abc123, with the operation's
// record: one document read. With ?wait=30s it answers once the operation is settled, or after that
// time with the record as it is then. It reads after 0.25 s, 1 s, and then every 2.5 s: 14 times in 30 s
// (ledgertest.BillWait). If the process ends, or mostWaits wait already, it answers with its last read; in
// the second case with a Retry-After, so that the caller does not poll without a pause.
type reader struct {
	handler
	waits *semaphore.Weighted // held by each request that waits
}

// onlyGET answers every other method 405.
func onlyGET(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			httpfunc.NotAllowed(w, http.MethodGet)
			return
		}
		next(w, r)
	})
}

func (h reader) readOperation(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, resultsPath) {
		httpfunc.WriteError(w, httpfunc.Errorf(http.StatusNotImplemented, "this function reads no results: those of a job "+
			"are in its storage, of a batch at Gemini or where an effect has put them; opledger results NAME prints them"))
		return
	}
	name, wait, problems := parseRead(r)
	if len(problems) > 0 {
		httpfunc.WriteError(w, bad(problems))
		return
	}
	rec, full, err := h.await(r.Context(), name.Key, wait)
	if full {
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	httpfunc.WriteResult(w, http.StatusOK, rec.Report(), err)
}

// parseRead reads what a request asks for, and returns every problem of it.
func parseRead(r *http.Request) (name operation.Name, wait time.Duration, problems operation.Problems) {
	name, err := operation.ParseName(strings.TrimPrefix(r.URL.Path, readPath), "")
	if err == nil {
		err = checkCollection(name)
	}
	problems.When(err != nil, "name", "%w", err)
	problems = append(problems, unknownParameters(r, "wait")...)
	if text := r.URL.Query().Get("wait"); text != "" {
		if wait, err = time.ParseDuration(text); err != nil {
			problems.Add("wait", "%w", diag.Duration(text))
		} else if wait < 0 || wait > maxWait {
			problems.Add("wait", "it must be from 0s to %v, not %v; to wait longer, ask again", maxWait, wait)
		}
	}
	return name, wait, problems
}

// unknownParameters returns a problem for each parameter of a request that is not known.
func unknownParameters(r *http.Request, known ...string) operation.Problems {
	only := "there is none here"
	if len(known) > 0 {
		only = "the only one is " + diag.OneOf(known)
	}
	var problems operation.Problems
	for _, parameter := range slices.Sorted(maps.Keys(r.URL.Query())) {
		problems.When(!slices.Contains(known, parameter), diag.Quote(parameter), "there is no such parameter; %s", only)
	}
	return problems
}

// await returns the record once the operation is settled, or wait is over, or the process ends.
// full: too many wait already, so it did not.
func (h reader) await(ctx context.Context, key operation.Key, wait time.Duration) (
	rec operation.Record, full bool, err error,
) {
	rec, err = h.Ledger.Operations.Read(ctx, key)
	if err != nil || rec.Settled() || wait == 0 {
		return rec, false, err
	}
	if !h.waits.TryAcquire(1) {
		return rec, true, nil
	}
	defer h.waits.Release(1)
	for step := firstStep; err == nil && !rec.Settled() && wait > 0; step = min(stepGrowth*step, mostStep) {
		least := step
		if wait < 2*step {
			step = wait // the last one: another read would follow sooner than this one
		}
		before := rec
		if err = h.pause(ctx, step); err != nil {
			err = fmt.Errorf("waiting for %s: %w", key, err)
		} else if step >= least {
			rec, err = h.Ledger.Operations.Read(ctx, key)
		}
		if err != nil && (errors.Is(err, effect.ErrStopped) || errors.Is(context.Cause(ctx), effect.ErrStopped)) {
			return before, false, nil
		}
		wait -= step
	}
	return rec, false, err
}

// pause sleeps for d. It returns early where the request or the process ends.
func (h reader) pause(ctx context.Context, d time.Duration) error {
	if h.Pause != nil {
		return h.Pause(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-effect.Stopping(ctx).Done():
		return effect.ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
