package submission_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// submissions are one command line for each kind of operation.
var submissions = []struct {
	args   []string
	create geminisim.Op
	truth  func(*geminisim.Sim) []geminisim.OperationInfo
}{
	{[]string{"submit", "batch", "--model", "gemini-3.5-flash", "--file", "files/x", "--display-name", "nightly"},
		geminisim.OpCreate, (*geminisim.Sim).Batches},
	{[]string{"submit", "video", "--model", "veo-3.1", "--prompt", "a cat"}, geminisim.OpVideoCreate,
		(*geminisim.Sim).Videos},
	{[]string{"submit", "interaction", "--model", "gemini-3.5-flash", "--input", "why?"}, geminisim.OpInteractionCreate,
		(*geminisim.Sim).Interactions},
}

// with returns a command line with more arguments.
func with(args []string, more ...string) []string {
	return append(append([]string{}, args...), more...)
}

// TestSubmit: the operation runs, is registered, and carries its correlation id; the same id again
// starts nothing [G6, K6, L2].
func TestSubmit(t *testing.T) {
	t.Parallel()
	for _, c := range submissions {
		t.Run(c.args[1], func(t *testing.T) {
			t.Parallel()
			f := commandtest.NewFile(t)
			sim, variables := commandtest.FakeGemini(t, f)
			args := with(c.args, "--correlation-id", "c-1", "--job-kind", "nightly", "--metadata", `{"day":"21"}`,
				"--webhook-url", "https://hooks.example/")
			s := commandtest.Run(t, variables, args...).Want(t, terminal.ExitDone)
			truth := c.truth(sim)
			if len(truth) != 1 || truth[0].UserMetadata[gemini.CorrelationKey] != "c-1" ||
				s.Out != truth[0].Name+" submitted, correlation id c-1\n" {
				t.Errorf("%q, Gemini has %+v", s.Out, truth)
			}
			var story ledger.Story
			commandtest.OneObject(t, commandtest.Run(t, variables, "show", truth[0].Name, "--json").Want(t,
				terminal.ExitDone).Out, &story)
			if r := story.Record; r.JobKind != "nightly" || r.CorrelationID != "c-1" || string(r.Metadata) != `{"day":"21"}` ||
				r.Name != truth[0].Name {
				t.Errorf("%+v", r)
			}
			var again map[string]any
			commandtest.OneObject(t, commandtest.Run(t, variables, with(args, "--json")...).Want(t, terminal.ExitDone).Out,
				&again)
			if again["known"] != true || again["correlationId"] != "c-1" || again["operation"] != string(story.Record.Key) ||
				len(c.truth(sim)) != 1 {
				t.Errorf("%v", again)
			}
			commandtest.Run(t, variables, args...).Want(t, terminal.ExitDone).Says(t,
				"was submitted before, correlation id c-1\n")
			commandtest.Run(t, variables, with(args, "--job-kind", "daily")...).Want(t, terminal.ExitDone).Says(t,
				"; kept as it was: jobKind\n")
			commandtest.Run(t, variables, with(c.args, "--json")...).Want(t, terminal.ExitDone).Says(t, `"known": false`)
		})
	}
}

// TestSubmitFails: exit code 1 and one line that says what is recorded and what happens next; it
// cannot command a terminal.
func TestSubmitFails(t *testing.T) {
	t.Parallel()
	for _, c := range submissions {
		t.Run(c.args[1], func(t *testing.T) {
			t.Parallel()
			f := commandtest.NewFile(t)
			sim, variables := commandtest.FakeGemini(t, f)
			variables = append(variables, "GEMINI_API_KEY=AIza-must-stay-secret")
			fails := func(args []string, says ...string) {
				t.Helper()
				s := commandtest.Run(t, variables, args...).Want(t, terminal.ExitFailed, says...)
				line := s.Complaint(t)
				if s.Out != "" || strings.ContainsAny(line, "\x1b\u009b\r") || strings.Contains(line, "AIza") {
					t.Errorf("%q, %q", s.Out, s.Err)
				}
			}
			sim.AnswerNext(c.create, "", geminisim.Answer{
				Status: 400, Body: []byte("no \x1b[2J\u009b2J key=AIza-must-stay-secret\r\nnext"),
			})
			fails(with(c.args, "--correlation-id", "refused"), "not submitted", "the same --correlation-id refused",
				"Nothing runs")
			sim.AnswerNext(c.create, "", geminisim.LostAnswer())
			fails(with(c.args, "--correlation-id", "lost"), "no answer", "intent lost is recorded", "opledger intent list")
			if c.create != geminisim.OpCreate {
				fails(with(c.args, "--correlation-id", "lost"), "cannot be listed", "Nothing was submitted now")
			}
			commandtest.Run(t, variables, "intent", "list").Want(t, terminal.ExitDone).Says(t, "\nlost ")
			commandtest.Run(t, variables, with(c.args, "--correlation-id", "refused")...).Want(t, terminal.ExitDone).Says(t,
				"submitted, correlation id refused")
			if n := len(c.truth(sim)); n != 2 {
				t.Errorf("%d run", n)
			}
		})
	}
}

// TestSubmitUnregistered: an operation that runs and could not be registered can be registered with
// the command line that the error prints.
func TestSubmitUnregistered(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	sim.AnswerNext(geminisim.OpCreate, "", geminisim.Answer{
		Body: []byte(`{"name":"batches/` + strings.Repeat("x", 2000) + `"}`), Perform: true,
	})
	s := commandtest.Run(t, variables, with(submissions[0].args, "--correlation-id", "c")...).Want(t, terminal.ExitFailed,
		"submitted, but not registered", "It runs",
		"opledger register ", "--correlation-id c")
	s.Complaint(t)
}

// TestSubmitUnread: where the ledger could not be read the exit code says so, before and after Gemini was
// asked.
func TestSubmitUnread(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/newer")
	sim, variables := commandtest.FakeGemini(t, f)
	args := with(submissions[0].args, "--correlation-id", "c-1")
	commandtest.Run(t, variables, args...).Want(t, terminal.ExitDone)
	store, err := sqlite.Open(t.Context(), f.Path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, path := range []ledger.Path{"intents/c-1", ledger.OperationPath("batches/newer")} {
		ledgertest.Renumber(t, store, path, operation.NewestSchema+1)
	}
	commandtest.Run(t, variables, args...).Want(t, terminal.ExitUnread, "a newer revision",
		"Nothing was submitted now").Complaint(t)
	sim.AnswerNext(geminisim.OpCreate, "", geminisim.Answer{Body: []byte(`{"name":"batches/newer"}`), Perform: true})
	commandtest.Run(t, variables, with(submissions[0].args, "--correlation-id", "c-2")...).Want(t, terminal.ExitUnread,
		"submitted, but not registered", "It runs").Complaint(t)
}

// TestSubmitRequests: the lines of a file are uploaded as they are, and the batch is of that file; a line
// without a key is refused before anything is sent.
func TestSubmitRequests(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	args := []string{"submit", "batch", "--model", "gemini-3.5-flash", "--correlation-id", "c-1", "--requests"}
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "requests.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for text, says := range map[string]string{
		"": "has no requests", "nonsense": "line 1", `{"request":{"contents":[{}]}}`: "it has no key",
		`{"key":"a","request":{"contents":[{}]}}` + "\n" + `{"key":"a","request":{"contents":[{}]}}`: "line 2",
	} {
		commandtest.Run(t, variables, with(args, write(text))...).Want(t, terminal.ExitUsage, "--requests: ",
			says).Complaint(t)
	}
	commandtest.Run(t, variables, with(args, filepath.Join(t.TempDir(), "none"))...).Want(t, terminal.ExitUsage,
		"--requests: ", "no such file")
	if n := sim.Stats().APIRequests; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	path := write(`{"key":"review-1","request":{"contents":[{"parts":[{"text":"Good?"}]}]}}` + "\n")
	commandtest.Run(t, variables, with(args, path)...).Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, with(args, path)...).Want(t, terminal.ExitDone).Says(t, "was submitted before")
	if n := len(sim.Batches()); n != 1 {
		t.Errorf("%d batches", n)
	}
}

// TestSubmitWithoutGemini: a job that never reached Gemini is reported as not submitted.
func TestSubmitWithoutGemini(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := []string{"OPLEDGER_STORE=" + f.Store(), "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1"}
	commandtest.Run(t, variables, submissions[0].args...).Want(t, terminal.ExitFailed, "not submitted",
		"connection refused").Complaint(t)
}
