package files_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

const nightly operation.Key = "jobs/nightly"

func newLedger(t *testing.T) *ledger.Ledger {
	t.Helper()
	store, err := sqlite.Open(t.Context(), t.TempDir()+"/ledger.db", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() }) // the test has ended
	settings := ledger.DefaultSettings()
	settings.MaxBatches = 80
	l, err := ledger.New(store, settings, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func request() ledger.JobRequest {
	return ledger.JobRequest{
		Key: nightly, Options: job.Options{Model: "gemini-3.5-flash"},
		Input: job.Input{SHA256: "0a1b", Bytes: 4, Requests: 1},
	}
}

// jobIn returns the job of the request, whose objects are in s.
func jobIn(s storage.Storage) job.Job {
	r := request()
	return job.Job{Key: r.Key, Options: r.Options.WithDefaults(), Input: r.Input, Storage: s.String()}
}

func create(t *testing.T, s storage.Storage, name, content string) {
	t.Helper()
	if _, err := s.Create(t.Context(), name, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
}

// TestAccept: a job whose input is in job storage is submitted once; the same again is known, also where its
// input is gone by then, and another one under its id is refused [J1].
func TestAccept(t *testing.T) {
	t.Parallel()
	s, l := folder(t), newLedger(t)
	accept := func(r ledger.JobRequest) (ledger.JobSubmitted, error) { return files.Accept(t.Context(), l, s, r) }
	if _, err := accept(request()); !errors.Is(err, files.ErrInput) || !strings.Contains(err.Error(), "upload it first") {
		t.Errorf("without an input: %v", err)
	}
	create(t, s, "nightly/0a1b/input.jsonl", "one\n")
	wrong := request()
	wrong.Input.Bytes = 5
	if _, err := accept(wrong); !errors.Is(err, files.ErrInput) || !strings.Contains(err.Error(), "has 4 bytes, not 5") {
		t.Errorf("with another size: %v", err)
	}
	got, err := accept(request())
	if err != nil || !got.Created || got.Job.Storage != s.String() || got.Job.Input.Object != "nightly/0a1b/input.jsonl" ||
		got.Job.Options.MaxAttempts != job.DefaultMaxAttempts {
		t.Errorf("%+v, %v", got, err)
	}
	if err := s.Delete(t.Context(), got.Job.Input.Object); err != nil {
		t.Fatal(err)
	}
	if again, err := accept(request()); err != nil || again.Created {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	if _, err := accept(wrong); err != nil { // its digest is the same, and says more than its size
		t.Errorf("the same digest: %v", err)
	}
	other := request()
	other.Input.SHA256 = "ffff"
	if _, err := accept(other); !errors.Is(err, ledger.ErrJobDiffers) {
		t.Errorf("another input: %v", err)
	}
	invalid := request()
	invalid.Options.Model = ""
	if _, err := accept(invalid); !errors.Is(err, operation.ErrSubmission) {
		t.Errorf("without a model: %v", err)
	}
}

// TestKeep: what was submitted is kept once. The same again, such as by a second worker, changes nothing;
// another job, or one that has results, finds the id taken [J1].
func TestKeep(t *testing.T) {
	t.Parallel()
	s := folder(t)
	j := jobIn(s)
	for range 2 {
		if err := files.Keep(t.Context(), s, j); err != nil {
			t.Fatal(err)
		}
	}
	changed := j
	cost := 7.0
	if !changed.Change(job.Limits{MaxCost: &cost}, operation.Decided{By: "ada"}) {
		t.Fatal("it did not change")
	}
	if err := files.Keep(t.Context(), s, changed); err != nil {
		t.Errorf("with a limit that was changed: %v", err)
	}
	other := j
	other.Options.MaxAttempts = 1
	if err := files.Keep(t.Context(), s, other); !errors.Is(err, ledger.ErrJobDiffers) {
		t.Errorf("another job: %v", err)
	}
	create(t, s, files.Output(j, files.Results), "one\n")
	if err := files.Keep(t.Context(), s, j); !errors.Is(err, files.ErrExpired) {
		t.Errorf("one that has results: %v", err)
	}
	broken := folder(t)
	create(t, broken, "nightly/job.json", "no JSON")
	if err := files.Keep(t.Context(), broken, j); err == nil || errors.Is(err, files.ErrExpired) {
		t.Errorf("what cannot be read: %v", err)
	}
}
