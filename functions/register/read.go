package register

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/operation"
)

const (
	// readPath is before the name of the operation that is read.
	readPath = "/operations/"
	// maxWait is how long a reader may wait: shorter than the function's timeout.
	maxWait = 30 * time.Second
	// readEvery is the time between two reads of a record that a reader waits for.
	readEvery = 2 * time.Second
	// mostWaits is how many requests may wait at once in one process. Deployed, one takes 80 at once: the
	// others are left to registrations.
	mostWaits = 20
)

// A reader answers GET /operations/{name}, such as /operations/batches/abc123, with the operation's
// record: one document read. With ?wait=30s it answers as soon as the operation is settled, and
// after that time in any case, with the record as it is then: at most one read every two seconds,
// so none behind a shorter wait. Where the process ends, or mostWaits wait already, it answers with
// what it read last; in the second case with a Retry-After, because a caller that asks again at once would be
// answered at once for as long as the others wait.
type reader struct {
	handler
	waits chan struct{} // holds one for each request that waits
}

func (h reader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", http.MethodGet)
		httpfunc.WriteError(w, &httpfunc.Error{Status: http.StatusMethodNotAllowed, Message: "only GET is answered here"})
		return
	}
	name, wait, problems := parseRead(r)
	if len(problems) > 0 {
		httpfunc.WriteError(w, &httpfunc.Error{
			Status: http.StatusBadRequest, Problems: problems,
			Message: "the request is not valid: " + strings.Join(problems, "; "),
		})
		return
	}
	rec, full, err := h.await(r.Context(), name.Key, wait)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	if full {
		w.Header().Set("Retry-After", strconv.Itoa(int(readEvery.Seconds())))
	}
	httpfunc.WriteJSON(w, http.StatusOK, rec.Report())
}

// parseRead reads what a request asks for, and returns every problem of it.
func parseRead(r *http.Request) (name operation.Name, wait time.Duration, problems []string) {
	name, err := operation.ParseName(strings.TrimPrefix(r.URL.Path, readPath), "")
	if err == nil {
		err = checkCollection(name)
	}
	if err != nil {
		problems = append(problems, "name: "+err.Error())
	}
	query := r.URL.Query()
	for parameter := range query {
		if parameter != "wait" {
			problems = append(problems, fmt.Sprintf("%s: there is no such parameter; the only one is wait",
				diag.Quote(parameter)))
		}
	}
	if text := query.Get("wait"); text != "" {
		if wait, err = time.ParseDuration(text); err != nil {
			problems = append(problems, "wait: "+diag.Duration(text).Error())
		} else if wait < 0 || wait > maxWait {
			problems = append(problems, fmt.Sprintf("wait: it must be from 0s to %v, not %v; to wait longer, ask again",
				maxWait, wait))
		}
	}
	return name, wait, problems
}

// await returns the record once the operation is settled, or wait is over, or the process ends. full:
// others wait already, so that it did not.
func (h reader) await(ctx context.Context, key operation.Key, wait time.Duration) (
	rec operation.Record, full bool, err error,
) {
	rec, err = h.Ledger.Operations.Read(ctx, key)
	if err != nil || rec.Settled() || wait == 0 {
		return rec, false, err
	}
	select {
	case h.waits <- struct{}{}:
		defer func() { <-h.waits }()
	default:
		return rec, true, nil
	}
	for err == nil && !rec.Settled() && wait > 0 {
		step := readEvery
		if wait < 2*readEvery {
			step = wait // the last one, so that what follows it is no second read within readEvery
		}
		before := rec
		if err = h.pause(ctx, step); err != nil {
			err = fmt.Errorf("waiting for %s: %w", key, err)
		} else if step >= readEvery {
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
