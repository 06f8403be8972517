package serve_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// jobFile writes an input of n requests.
func jobFile(t *testing.T, n int) string {
	t.Helper()
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"key":"review-%03d","request":{"contents":[{"parts":[{"text":"Is it good? %s"}]}]}}`+"\n", i,
			strings.Repeat("word ", 20))
	}
	path := filepath.Join(t.TempDir(), "reviews.jsonl")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shown waits until the page of a job says all that is awaited.
func shown(s commandtest.Served, id string, awaited ...string) {
	s.T.Helper()
	address := s.URL + "/console/operation?key=jobs/" + id
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for limit := time.Now().Add(2 * time.Minute); ; <-again.C {
		_, page := commandtest.Fetch(s.T, "GET", address, "")
		lacks := slices.IndexFunc(awaited, func(words string) bool { return !strings.Contains(page, words) })
		if lacks < 0 {
			return
		}
		if time.Now().After(limit) {
			s.T.Fatalf("%s does not say %q: %s", address, awaited[lacks], page)
		}
	}
}

// TestJobsTrial: an operator who is given the pages alone reads of three jobs why they go no further, what follows and
// what to do: one waits for enqueued tokens, of one the pilot failed, and of one Gemini refuses the key. The overview
// names those two, and so does status. Then the failed one is cancelled and redriven by its buttons.
func TestJobsTrial(t *testing.T) {
	t.Parallel()
	s := simulate(t, []string{"OPLEDGER_ENQUEUED_TOKENS=gemini-quota=60"}, "--speed", "100", "--fault",
		"jobs/pilot:badJSON=1", "--fault", "jobs/key:createsDenied=1", "--allow-actions")
	defer s.Stop()
	submit := func(id, model string, n int, more ...string) {
		commandtest.Run(t, environ(s), append([]string{"submit", "job", jobFile(t, n), "--id", id, "--model", model},
			more...)...).Want(t, terminal.ExitDone)
	}
	submit("pilot", "gemini-pilot", 200, "--pilot", "20", "--validate", "json", "--max-attempts", "1")
	submit("key", "gemini-key", 20)
	submit("quota", "gemini-quota", 100) // a batch each, one after the other
	for _, job := range []struct {
		id   string
		says []string
	}{
		{"quota", []string{"It waits for enqueued tokens of gemini-quota.", "60 tokens of gemini-quota may be in batches",
			"The next batch starts by itself", "Nothing, if the job may take longer."}},
		{"key", []string{"Gemini refuses the API key, or the project.", "API key not valid", "nothing is paid",
			"Correct GEMINI_API_KEY"}},
		{"pilot", []string{"The job is held: its pilot failed.", "20 of the pilot&#39;s 20 requests were not done",
			"The other 180 requests were not sent, and cost nothing.", "cancel the job, correct its input", "First failures",
			"review-000"}},
	} {
		shown(s, job.id, append(job.says, "What it means", "What to do")...)
	}
	_, overview := commandtest.Fetch(t, "GET", s.URL+"/", "")
	status := commandtest.Run(t, environ(s), "status").Want(t, terminal.ExitFailed)
	for _, words := range []string{
		"he job jobs/key goes no further: Gemini refuses the API key, or the project",
		"he job jobs/pilot goes no further: its pilot failed",
	} {
		if !strings.Contains(overview, words) || !strings.Contains(status.Out, words) {
			t.Errorf("without %q: %s, and the overview: %s", words, status.Out, overview)
		}
	}
	for _, pressed := range []commandtest.Pressed{
		{Do: "cancel-job", Key: "jobs/pilot"}, {Do: "redrive", Key: "jobs/pilot"},
	} {
		shown(s, "pilot", "do="+pressed.Do)
		if code, page := commandtest.Send(t, s.URL, pressed.Form(t, s.URL), "Origin", s.URL); code != http.StatusOK {
			t.Errorf("%s: %d %s", pressed.Do, code, page)
		}
	}
	shown(s, "pilot-2", "200 requests")
}
