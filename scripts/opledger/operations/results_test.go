package operations_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestResults: each request of a batch has one line, with its key and what Gemini answered.
func TestResults(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	name := commandtest.Start(t, sim, "job", geminisim.Script{Hold: geminisim.StateRunning, Items: 250})
	commandtest.Run(t, variables, "register", name).Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "results", name).Want(t, terminal.ExitFailed, "it is PENDING", "opledger wait "+name).
		Complaint(t)
	if err := sim.SetState(name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	commandtest.Run(t, variables, "reconcile", name).Want(t, terminal.ExitDone)
	s := commandtest.Run(t, variables, "results", name).Want(t, terminal.ExitDone)
	keys := map[string]bool{}
	for line := range strings.Lines(s.Out) {
		var item struct {
			Key             string
			Response, Error map[string]any
		}
		if err := json.Unmarshal([]byte(line), &item); err != nil || (item.Response == nil) == (item.Error == nil) {
			t.Fatalf("%v: %s", err, line)
		}
		keys[item.Key] = true
	}
	if len(keys) != 250 || strings.Count(s.Out, "\n") != 250 {
		t.Errorf("%d keys in %d lines", len(keys), strings.Count(s.Out, "\n"))
	}
	commandtest.Run(t, []string{"OPLEDGER_STORE=" + f.Store()}, "results", name).Want(t, terminal.ExitUsage,
		"GEMINI_API_KEY").Complaint(t)
	commandtest.Run(t, variables, "results", "batches/none").Want(t, terminal.ExitFailed, "opledger list").Complaint(t)
}

// TestResultsIncomplete: what of a result is not as it should be is printed as it is, and said: a request
// without a line, a key that stands twice, a line without a key, a download that broke off, or none.
func TestResultsIncomplete(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	name := commandtest.Start(t, sim, "job", geminisim.Script{Hold: geminisim.StateRunning, Items: 4})
	commandtest.Run(t, variables, "register", name).Want(t, terminal.ExitDone)
	if err := sim.SetState(name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	commandtest.Run(t, variables, "reconcile", name).Want(t, terminal.ExitDone)
	// Of one that a delivery settled, Gemini knows the number of its requests, and the ledger does not.
	announced := commandtest.Start(t, sim, "announced", geminisim.Script{Hold: geminisim.StateRunning, Items: 4})
	commandtest.Run(t, variables, "register", announced).Want(t, terminal.ExitDone)
	f.Settle(operation.Key(announced), operation.Succeeded, operation.Result{OutputFile: "files/announced"})
	line := func(key string) string {
		return fmt.Sprintf(`{"key":%q,"response":{"text":"<b>&"}}`, key) + "\n"
	}
	for _, c := range []struct {
		what, body string
		says       []string
	}{
		{"a line is missing", line("a") + line("b") + line("c"), []string{"1 request without a line, of 4"}},
		{"a line more", line("a") + line("b") + line("c") + line("d") + line("e"),
			[]string{"1 line more than its 4 requests"}},
		{"a key twice", line("a") + line("b") + line("b") + line("b"),
			[]string{"2 requests without a line, of 4", "2 lines with the key of a line before"}},
		{"no key", line("a") + line("b") + line("c") + `{"response":{"text":"<b>&"}}` + "\n",
			[]string{"1 line without a key"}},
	} {
		for _, batch := range []string{name, announced} {
			sim.AnswerNext(geminisim.OpDownload, "", geminisim.Answer{Body: []byte(c.body)})
			s := commandtest.Run(t, variables, "results", batch).Want(t, terminal.ExitFailed, c.says...)
			if s.Out != c.body {
				t.Errorf("%s: printed %q, want %q", c.what, s.Out, c.body)
			}
		}
	}
	whole := line("a") + line("b") + line("c") + line("d")
	for _, c := range []struct {
		status, code int
		says         string
	}{
		{404, terminal.ExitFailed, "neither Gemini nor the ledger has the number"},
		{503, terminal.ExitUnread, "how many results " + announced + " should have is not known"},
	} {
		sim.AnswerNext(geminisim.OpGet, announced, geminisim.Answer{Status: c.status})
		sim.AnswerNext(geminisim.OpDownload, "", geminisim.Answer{Body: []byte(whole)})
		if s := commandtest.Run(t, variables, "results", announced).Want(t, c.code, c.says); s.Out != whole {
			t.Errorf("%d: printed %q", c.status, s.Out)
		}
	}
	sim.AnswerNext(geminisim.OpDownload, "", geminisim.Answer{Status: 404})
	commandtest.Run(t, variables, "results", name).Want(t, terminal.ExitFailed, "does not have them").Complaint(t)
	sim.AnswerNext(geminisim.OpDownload, "", geminisim.Answer{Body: []byte(line("a") + line("b")), Drop: true})
	commandtest.Run(t, variables, "results", name).Want(t, terminal.ExitUnread, "not whole: run it again")
	sim.AnswerNext(geminisim.OpDownload, "", geminisim.Answer{Status: 503})
	commandtest.Run(t, variables, "results", name).Want(t, terminal.ExitUnread, "503").Complaint(t)
}

// TestResultsDeleted: of results that an effect has put into a collection, those that were deleted since are missed.
func TestResultsDeleted(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	name, variables := stored(t, f, 20)
	s := commandtest.Run(t, variables, "results", name).Want(t, terminal.ExitDone)
	if strings.Count(s.Out, "\n") != 20 || !strings.Contains(s.Out, `"index":`) {
		t.Fatalf("they are not those of the effect: %s", s.Out)
	}
	var first struct{ Key string }
	if err := json.NewDecoder(strings.NewReader(s.Out)).Decode(&first); err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), f.Path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close() //nolint:errcheck // a test's file
	path := ledger.ResultPath("reviews", operation.Key(name), first.Key)
	found, err := store.Get(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Commit(t.Context(), ledger.Write{Path: path, Token: found.Documents[0].Token}); err != nil {
		t.Fatal(err)
	}
	s = commandtest.Run(t, variables, "results", name).Want(t, terminal.ExitFailed, "1 request without a line, of 20")
	if strings.Count(s.Out, "\n") != 19 {
		t.Errorf("%d lines", strings.Count(s.Out, "\n"))
	}
}
