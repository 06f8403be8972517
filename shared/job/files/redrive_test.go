package files_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

var redriving = ledger.Decision{By: "ann", Why: "a better prompt"}

// endJob ends a job of one split whose requests have these outcomes by their keys, in the order of the keys.
func endJob(t *testing.T, l *ledger.Ledger, s storage.Storage, key operation.Key, outcomes ...string) {
	t.Helper()
	grant, err := l.Effects.Claim(t.Context(), key, job.StepSplit)
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.Jobs.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var results, failed bytes.Buffer
	j.Counts = job.Counts{}
	for _, each := range outcomes {
		name, outcome, _ := strings.Cut(each, "=")
		line := fmt.Sprintf(`"error":{"of":%q},"outcome":%q,"attempts":1}`+"\n", key, outcome)
		fmt.Fprintf(&results, `{"key":%q,%s`, name, line)
		if outcome != "done" {
			fmt.Fprintf(&failed, `{"key":%q,"request":{"contents":[{"parts":[{"text":"<é>"}]}]},%s`, name, line)
		}
		j.Counts = j.Counts.Add(job.Outcome(outcome).Counts())
	}
	j.Phase = job.Ended
	j.Output.Results.Name = files.Output(j.Job, files.Results)
	create(t, s, j.Output.Results.Name, results.String())
	if failed.Len() > 0 {
		j.Output.Failed.Name = files.Output(j.Job, files.Failed)
		create(t, s, j.Output.Failed.Name, failed.String())
	}
	if err := l.Effects.Finish(t.Context(), grant.Lease, j.Write()); err != nil {
		t.Fatal(err)
	}
}

// A redriveWorld has one job that has ended.
type redriveWorld struct {
	*testing.T
	storage.Storage
	*ledger.Ledger
}

func newRedriveWorld(t *testing.T) redriveWorld {
	t.Helper()
	w := redriveWorld{t, folder(t), newLedger(t)}
	create(t, w.Storage, "nightly/0a1b/input.jsonl", "one\n")
	if _, err := files.Accept(t.Context(), w.Ledger, w.Storage, request()); err != nil {
		t.Fatal(err)
	}
	return w
}

// redrive redrives a job as another.
func (w redriveWorld) redrive(of, as operation.Key, outcomes ...job.Outcome) (ledger.JobSubmitted, error) {
	r := ledger.JobRequest{
		Key: as, Options: request().Options,
		Redrive: ledger.Redriving{Of: of, Outcomes: outcomes, Decision: redriving},
	}
	return files.Redrive(w.Context(), w.Ledger, w.Storage, r)
}

func (w redriveWorld) must(of, as operation.Key, outcomes ...job.Outcome) ledger.JobSubmitted {
	w.Helper()
	submitted, err := w.redrive(of, as, outcomes...)
	if err != nil {
		w.Fatal(err)
	}
	return submitted
}

// TestRedrive: a redrive has the requests of the named outcomes, and each job names the other. The same again creates
// nothing, and no request goes into a second one [J1, J14].
func TestRedrive(t *testing.T) {
	t.Parallel()
	w := newRedriveWorld(t)
	if _, err := w.redrive(nightly, "jobs/nightly-2", job.NotDone()...); !errors.Is(err, job.ErrNoRedrive) {
		t.Errorf("before it has ended: %v", err)
	}
	endJob(t, w.Ledger, w.Storage, nightly, "a=done", "b=failed", `c"é=failed`, "d=refused")
	for i, created := range []bool{true, false} {
		got := w.must(nightly, "jobs/nightly-2", job.OutcomeFailed)
		if got.Created != created || got.Job.Redrives != nightly || got.Job.Input.Requests != 2 ||
			got.Job.RedriveID() != "nightly-3" {
			t.Errorf("%d: %+v", i, got)
		}
	}
	var input bytes.Buffer
	j, err := w.Jobs.Read(t.Context(), "jobs/nightly-2")
	if err != nil {
		t.Fatal(err)
	}
	content, err := w.Read(t.Context(), j.Input.Object, 0, -1)
	if err == nil {
		_, err = input.ReadFrom(content)
	}
	const body = `"request":{"contents":[{"parts":[{"text":"<é>"}]}]}}` + "\n"
	if want := `{"key":"b",` + body + `{"key":"c\"é",` + body; err != nil || input.String() != want {
		t.Errorf("%v, %s, want %s", err, input.String(), want)
	}
	old, err := w.Jobs.Read(t.Context(), nightly)
	if err != nil || len(old.RedrivenBy) != 1 || old.RedrivenBy[0].Job != "jobs/nightly-2" ||
		old.RedrivenBy[0].By != "ann" || old.Phase != job.Ended {
		t.Errorf("%+v, %v", old, err)
	}
	for as, outcomes := range map[operation.Key][]job.Outcome{
		"jobs/other": {job.OutcomeFailed}, "jobs/others": job.NotDone(), "jobs/none": {job.OutcomeTruncated},
	} {
		if _, err := w.redrive(nightly, as, outcomes...); !errors.Is(err, job.ErrNoRedrive) {
			t.Errorf("%s: %v", as, err)
		}
	}
	if _, err := w.redrive(nightly, "jobs/nightly-2", job.OutcomeRefused); !errors.Is(err, ledger.ErrJobDiffers) {
		t.Errorf("the same id with other requests: %v", err)
	}
	w.must(nightly, "jobs/nightly-refused", job.OutcomeRefused)
	if err := w.Delete(t.Context(), old.Output.Failed.Name); err != nil {
		t.Fatal(err)
	}
	if _, err := w.redrive(nightly, "jobs/nightly-2", job.OutcomeFailed); !errors.Is(err, files.ErrMissing) {
		t.Errorf("without its requests: %v", err)
	}
	if _, err := w.redrive("jobs/absent", "jobs/b", job.OutcomeFailed); !errors.Is(err, ledger.ErrNoJob) {
		t.Errorf("of no job: %v", err)
	}
	w.Storage = folder(t)
	if _, err := w.redrive(nightly, "jobs/b", job.OutcomeRefused); !errors.Is(err, files.ErrForeignStorage) {
		t.Errorf("elsewhere: %v", err)
	}
}

// A refusing storage takes no object.
type refusing struct{ storage.Storage }

// Create implements storage.Storage.
func (refusing) Create(context.Context, string, io.Reader) (storage.Object, error) {
	return storage.Object{}, io.ErrNoProgress
}

// TestRedriveNotStored: a redrive whose input cannot be stored is not submitted, and nothing of it is left running.
func TestRedriveNotStored(t *testing.T) {
	t.Parallel()
	w := newRedriveWorld(t)
	endJob(t, w.Ledger, w.Storage, nightly, "a=failed")
	w.Storage = refusing{w.Storage}
	if _, err := w.redrive(nightly, "jobs/nightly-2", job.OutcomeFailed); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v", err)
	}
	old, err := w.Jobs.Read(t.Context(), nightly)
	if err != nil || len(old.RedrivenBy) != 0 {
		t.Errorf("%+v, %v", old, err)
	}
}

// TestCopyMerged: along redrives each key has one line, that of the last job which has one, whichever of them is
// asked for. It is complete once they all have ended.
func TestCopyMerged(t *testing.T) {
	t.Parallel()
	w := newRedriveWorld(t)
	endJob(t, w.Ledger, w.Storage, nightly, "a=done", "b=failed", "c=failed", "d=refused")
	w.must(nightly, "jobs/nightly-2", job.OutcomeFailed)
	merged := func(want map[string]operation.Key, whole bool) {
		t.Helper()
		for _, key := range []operation.Key{nightly, "jobs/nightly-2"} {
			var out bytes.Buffer
			complete, err := files.Copy(t.Context(), w.Ledger, w.Storage, key, files.Merged, &out)
			if err != nil || complete != whole || strings.Count(out.String(), "\n") != len(want) {
				t.Errorf("%s: %v, %v, %s", key, complete, err, out.String())
			}
			for name, of := range want {
				if line := fmt.Sprintf(`{"key":%q,"error":{"of":%q}`, name, of); !strings.Contains(out.String(), line) {
					t.Errorf("%s: %s is not in %s", key, line, out.String())
				}
			}
		}
	}
	merged(map[string]operation.Key{"a": nightly, "b": nightly, "c": nightly, "d": nightly}, false)
	endJob(t, w.Ledger, w.Storage, "jobs/nightly-2", "b=done", "c=failed")
	w.must("jobs/nightly-2", "jobs/nightly-3", job.NotDone()...)
	endJob(t, w.Ledger, w.Storage, "jobs/nightly-3", "c=done")
	w.must(nightly, "jobs/refused", job.OutcomeRefused)
	endJob(t, w.Ledger, w.Storage, "jobs/refused", "d=refused")
	want := map[string]operation.Key{"a": nightly, "b": "jobs/nightly-2", "c": "jobs/nightly-3", "d": "jobs/refused"}
	merged(want, true)
}

// TestCopyMergedForgotten: results are merged along redrives, too, whose records have expired.
func TestCopyMergedForgotten(t *testing.T) {
	t.Parallel()
	w := newRedriveWorld(t)
	j := jobIn(w.Storage)
	again := j
	again.Key, again.Redrives = "jobs/nightly-2", nightly
	long := `{"key":"a","why":"` + strings.Repeat("x", 100_000) + `"}` + "\n" // which is read in pieces
	for _, each := range []job.Job{j, again} {
		if err := files.Keep(t.Context(), w.Storage, each); err != nil {
			t.Fatal(err)
		}
	}
	create(t, w.Storage, files.Output(j, files.Results), long+`{"key":"b"}`+"\n")
	create(t, w.Storage, files.Output(again, files.Results), `{"key":"b","batch":"batches/2"}`+"\n")
	var out bytes.Buffer
	complete, err := files.Copy(t.Context(), newLedger(t), w.Storage, again.Key, files.Merged, &out)
	if err != nil || !complete || out.String() != `{"key":"b","batch":"batches/2"}`+"\n"+long {
		t.Errorf("%v, %v, %s", complete, err, out.String())
	}
	_, err = files.Copy(t.Context(), newLedger(t), folder(t), again.Key, files.Merged, &out)
	if !errors.Is(err, ledger.ErrNoJob) {
		t.Errorf("%v", err)
	}
}
