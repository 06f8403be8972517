package steps_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestInvalidInput: a job whose input is wrong ends FAILED with what is wrong, and nothing of it is sent.
func TestInvalidInput(t *testing.T) {
	t.Parallel()
	two := strings.Join(requests(2), "\n")
	for name, c := range map[string]struct {
		input    string
		requests int64
		says     string
	}{
		"a key twice":       {two + "\n" + requestOf("k0000") + "\n", 3, `line 3: the key "k0000" stands`},
		"no key":            {two + "\n{\"request\":{}}\n", 3, "line 3: "},
		"a carriage return": {two + "\r\n", 2, "line 2: "},
		"an empty line":     {two + "\n\n", 3, "line 3: "},
		"too few requests":  {two + "\n", 3, "it has 2 requests, not 3"},
		"no newline":        {two, 2, "its last line has no newline"},
		"more than may be":  {strings.Join(requests(7), "\n") + "\n", 7, "it would be more than 3 batches"},
		"an embedding": {
			two + "\n" + `{"key":"k0002","request":{"content":{"parts":[{"text":"x"}]}}}` + "\n", 3,
			`line 3: the job has embed=false`,
		},
		"two lines at its end, cut before": {strings.Join(append(requests(5), "no JSON"), "\n") + "\n", 6, "line 6: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setting{options: func(o steps.Options) steps.Options { return o.WithParts(3, 1) }})
			w.put(c.input, c.requests, job.Options{MaxRequestsPerBatch: 2})
			rec := w.settle()
			j := w.job()
			if rec.State != operation.Failed || !strings.Contains(j.Invalid, c.says) ||
				!strings.Contains(rec.Result.ErrorMessage, c.says) {
				t.Errorf("%s: %s, want %s", rec.State, rec.Result.ErrorMessage, c.says)
			}
			if len(w.sim.Batches()) > 0 || w.sim.Stats().APIRequests > 0 {
				t.Error("something was sent")
			}
		})
	}
}

// TestInputDiffers: an object that is not what was submitted ends the job.
func TestInputDiffers(t *testing.T) {
	t.Parallel()
	input := strings.Join(requests(4), "\n") + "\n"
	for name, c := range map[string]struct{ stored, says string }{
		"another text": {strings.ReplaceAll(input, "About", "aBout"), "its SHA-256 is "},
		"gone":         {"", "there is no nightly/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setting{})
			w.put(input, 4, job.Options{})
			object := w.job().Input.Object
			err := w.kept.Delete(t.Context(), object)
			if c.stored != "" && err == nil {
				_, err = w.kept.Create(t.Context(), object, strings.NewReader(c.stored))
			}
			if err != nil {
				t.Fatal(err)
			}
			w.settle()
			if j := w.job(); !strings.Contains(j.Invalid, c.says) || len(w.sim.Batches()) > 0 {
				t.Errorf("%s, want %s", j.Invalid, c.says)
			}
		})
	}
}

// TestSplitGoesOn: a worker that follows one which died behind some of its cuts makes the parts that are
// missing, and no other.
func TestSplitGoesOn(t *testing.T) {
	t.Parallel()
	for _, cuts := range []int{0, 1, 2} {
		t.Run(fmt.Sprint(cuts), func(t *testing.T) {
			t.Parallel()
			left := cuts
			w := newWorld(t, setting{
				options: func(o steps.Options) steps.Options { return o.WithParts(3, 1) },
				worker:  func(s ledger.Store) ledger.Store { return cutStore{s, &left} },
			})
			w.submit(requests(6), job.Options{MaxRequestsPerBatch: 2})
			for range w.outbox.Drain() {
				m := ledger.Message{Operation: nightly, Effect: job.StepSplit}
				if report, err := w.run(t.Context(), w.options, m); err != nil || !errors.Is(report.Cause, errCut) {
					t.Errorf("%+v, %v", report, err)
				}
			}
			left = -1
			if j := w.job(); j.Parts != cuts || j.Phase != job.Splitting {
				t.Fatalf("%d parts, %s", j.Parts, j.Phase)
			}
			w.clock.Advance(lease)
			w.settle()
			if j := w.ended(); j.Parts != 3 || j.Counts.Done != 6 {
				t.Errorf("%d parts, %+v", j.Parts, j.Counts)
			}
		})
	}
}

// A cutStore fails the commits that make parts, behind so many.
type cutStore struct {
	ledger.Store
	left *int
}

var errCut = errors.New("the process died")

func (s cutStore) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	for _, write := range writes {
		if p, isPart := write.Data.(job.Part); isPart && p.State == job.Planned && p.Version == 1 {
			if *s.left == 0 {
				return nil, errCut
			}
			*s.left--
		}
	}
	return s.Store.Commit(ctx, writes...)
}

// TestIDOfAnotherJob: an id whose record has expired is not given to another job, nor its results written over:
// what was submitted stays with them [J1].
func TestIDOfAnotherJob(t *testing.T) {
	t.Parallel()
	old, again := newWorld(t, setting{}), newWorld(t, setting{})
	old.submit(requests(4), job.Options{})
	old.settle()
	again.options.Storage, again.kept = old.kept, old.kept
	in := old.job().Input
	request := ledger.JobRequest{
		Key: nightly, Options: job.Options{Model: "gemini-3.5-flash", MaxRequestsPerBatch: 100}, Input: in,
		Storage: old.kept.String(),
	}
	if _, err := files.Accept(t.Context(), again.ledger, old.kept, request); !errors.Is(err, files.ErrExpired) {
		t.Errorf("the same again: %v", err)
	}
	request.Options.MaxAttempts = 2
	if _, err := files.Accept(t.Context(), again.ledger, old.kept, request); !errors.Is(err, ledger.ErrJobDiffers) {
		t.Errorf("with other options: %v", err)
	}
	for _, request.Options.MaxAttempts = range []int{2, 3} { // past what Accept checks, as two that submit at once
		fresh := newWorld(t, setting{})
		fresh.options.Storage, fresh.kept = old.kept, old.kept
		if _, err := fresh.ledger.Jobs.Submit(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if rec := fresh.settle(); rec.State != operation.Failed || len(fresh.sim.Batches()) > 0 || fresh.job().Invalid == "" {
			t.Errorf("%s, %+v", rec.State, fresh.job())
		}
	}
}
