package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
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
			f := newFile(t)
			sim, variables := fakeGemini(t, f)
			args := with(c.args, "--correlation-id", "c-1", "--job-kind", "nightly", "--metadata", `{"day":"21"}`,
				"--webhook-url", "https://hooks.example/")
			s := cli(t, variables, args...).want(t, exitDone)
			truth := c.truth(sim)
			if len(truth) != 1 || truth[0].UserMetadata[gemini.CorrelationKey] != "c-1" ||
				s.out != truth[0].Name+" submitted, correlation id c-1\n" {
				t.Errorf("%q, Gemini has %+v", s.out, truth)
			}
			var story ledger.Story
			oneObject(t, cli(t, variables, "show", truth[0].Name, "--json").want(t, exitDone).out, &story)
			if r := story.Record; r.JobKind != "nightly" || r.CorrelationID != "c-1" || string(r.Metadata) != `{"day":"21"}` ||
				r.Name != truth[0].Name {
				t.Errorf("%+v", r)
			}
			var again map[string]any
			oneObject(t, cli(t, variables, with(args, "--json")...).want(t, exitDone).out, &again)
			if again["known"] != true || again["correlationId"] != "c-1" || again["operation"] != string(story.Record.Key) ||
				len(c.truth(sim)) != 1 {
				t.Errorf("%v", again)
			}
			cli(t, variables, args...).want(t, exitDone).says(t, "was submitted before, correlation id c-1\n")
			cli(t, variables, with(args, "--job-kind", "daily")...).want(t, exitDone).says(t, "; kept as it was: jobKind\n")
			cli(t, variables, with(c.args, "--json")...).want(t, exitDone).says(t, `"known": false`)
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
			f := newFile(t)
			sim, variables := fakeGemini(t, f)
			variables = append(variables, "GEMINI_API_KEY=AIza-must-stay-secret")
			fails := func(args []string, says ...string) {
				t.Helper()
				s := cli(t, variables, args...).want(t, exitFailed, says...)
				line := s.complaint(t)
				if s.out != "" || strings.ContainsAny(line, "\x1b\u009b\r") || strings.Contains(line, "AIza") {
					t.Errorf("%q, %q", s.out, s.err)
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
			cli(t, variables, "intent", "list").want(t, exitDone).says(t, "\nlost ")
			cli(t, variables, with(c.args, "--correlation-id", "refused")...).want(t, exitDone).says(t,
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
	f := newFile(t)
	sim, variables := fakeGemini(t, f)
	sim.AnswerNext(geminisim.OpCreate, "", geminisim.Answer{
		Body: []byte(`{"name":"batches/` + strings.Repeat("x", 2000) + `"}`), Perform: true,
	})
	s := cli(t, variables, with(submissions[0].args, "--correlation-id", "c")...).want(t, exitFailed,
		"submitted, but not registered", "It runs",
		"opledger register ", "--correlation-id c")
	s.complaint(t)
}

// TestSubmitUnread: where the ledger could not be read the exit code says so, before and after Gemini was
// asked.
func TestSubmitUnread(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/newer")
	sim, variables := fakeGemini(t, f)
	args := with(submissions[0].args, "--correlation-id", "c-1")
	cli(t, variables, args...).want(t, exitDone)
	store, err := sqlite.Open(t.Context(), f.path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, path := range []ledger.Path{"intents/c-1", ledger.OperationPath("batches/newer")} {
		ledgertest.Renumber(t, store, path, operation.NewestSchema+1)
	}
	cli(t, variables, args...).want(t, exitUnread, "a newer revision", "Nothing was submitted now").complaint(t)
	sim.AnswerNext(geminisim.OpCreate, "", geminisim.Answer{Body: []byte(`{"name":"batches/newer"}`), Perform: true})
	cli(t, variables, with(submissions[0].args, "--correlation-id", "c-2")...).want(t, exitUnread,
		"submitted, but not registered", "It runs").complaint(t)
}

// TestSubmitRequests: the lines of a file are uploaded as they are, and the batch is of that file; a line
// without a key is refused before anything is sent.
func TestSubmitRequests(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	sim, variables := fakeGemini(t, f)
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
		cli(t, variables, with(args, write(text))...).want(t, exitUsage, "--requests: ", says).complaint(t)
	}
	cli(t, variables, with(args, filepath.Join(t.TempDir(), "none"))...).want(t, exitUsage, "--requests: ", "no such file")
	if n := sim.Stats().APIRequests; n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	path := write(`{"key":"review-1","request":{"contents":[{"parts":[{"text":"Good?"}]}]}}` + "\n")
	cli(t, variables, with(args, path)...).want(t, exitDone)
	cli(t, variables, with(args, path)...).want(t, exitDone).says(t, "was submitted before")
	if n := len(sim.Batches()); n != 1 {
		t.Errorf("%d batches", n)
	}
}

// TestSubmitWithoutGemini: a job that never reached Gemini is reported as not submitted.
func TestSubmitWithoutGemini(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.empty()
	variables := []string{"OPLEDGER_STORE=" + f.store(), "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1"}
	cli(t, variables, submissions[0].args...).want(t, exitFailed, "not submitted", "connection refused").complaint(t)
}
