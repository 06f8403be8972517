package console

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// TestRedriveAction: the page of a job that has ended offers to redrive it, asks first, and makes a job of what is not
// done, from its failed.jsonl. Then it leads to that one, and offers it no more.
func TestRedriveAction(t *testing.T) {
	t.Parallel()
	w := acting(t)
	folder := t.TempDir()
	s, err := storage.Open(folder, "")
	w.do(err)
	w.console.options.Actions.Storage = func(name string) (storage.Storage, error) { return storage.Open(name, "") }
	const failed = `{"key":"a","outcome":"failed","request":{"contents":[{"parts":[{"text":"A?"}]}]}}` + "\n"
	w.do(os.MkdirAll(filepath.Join(folder, "over", "0a1b"), 0o700))
	w.do(os.WriteFile(filepath.Join(folder, "over", "0a1b", "failed.jsonl"), []byte(failed), 0o600))
	const over operation.Key = "jobs/over"
	_, err = w.Jobs.Submit(t.Context(), ledger.JobRequest{
		Key: over, Storage: s.String(), Options: job.Options{Model: "gemini-3.5-flash"}.WithDefaults(),
		Input: job.Input{SHA256: "0a1b", Bytes: 1000, Requests: 10_000, Object: "over/0a1b/input.jsonl"},
	})
	w.do(err)
	w.ends(over, job.Output{Failed: job.Object{Name: "over/0a1b/failed.jsonl", Size: int64(len(failed))}})

	page, question := link("/console/operation", theKey, string(over)), asked{do: redrive, key: string(over)}.address()
	says(t, w.get(page).Body.String(), "do=redrive", "Redrive", "opledger redrive jobs/over --reason 'WHY'")
	says(t, w.get(question).Body.String(), "Redrive the 1 request of jobs/over that are not done?", "attempts begin at 1",
		"each job names the other")
	form := w.question(question)
	form.Set("why", "the quota was raised")
	says(t, w.post(form).Body.String(), "jobs/over-2 has the 1 request of jobs/over that are not done")
	again, err := w.Jobs.Read(t.Context(), "jobs/over-2")
	w.do(err)
	if again.Redrives != over || again.Input.Requests != 1 || !again.Options.Deadline.IsZero() {
		t.Errorf("%+v", again.Job)
	}
	says(t, w.get(page).Body.String(), "Redriven", "jobs/over-2", " by ada: the quota was raised")
	if answer := w.get(question); answer.Code != http.StatusConflict {
		t.Errorf("it is offered again: %d %s", answer.Code, answer.Body)
	}
}
