package serve_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/commandtest"
)

// A trouble is something that an operator must find on the overview, and its remedy behind the link.
type trouble struct{ what, says, page, remedy, status string }

var troubles = []trouble{
	{"a receiver that answers 500", "1 operation with a dead effect", "/console/receivers",
		"opledger replay --receiver ", "1 operation with a dead effect"},
	{"a job that Gemini does not know", "1 pending operation that Gemini does not know",
		"/console/operations?show=late", "opledger abandon NAME --reason &#39;WHY&#39;",
		"1 pending operation that Gemini does not know"},
	{"a conflicting end", "1 operation that ended in two ways", "/console/operations?show=conflict",
		"opledger reconcile NAME", "1 operation that ended in two ways"},
	{"a paused worker", "Effects are paused", "/console/effects", "Start opledger serve again", "paused"},
	{"a serve that was stopped", "No opledger serve runs on this ledger", "/console/passes",
		"/console/playbook?key=reconcile-absent", "no opledger serve runs on this ledger"},
}

// trial makes a ledger with the five troubles, each in the way it happens: by serve, and what it is
// sent.
func trial(t *testing.T) (commandtest.File, []string) {
	t.Helper()
	f := commandtest.NewFile(t)
	_, variables := commandtest.FakeGemini(t, f)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(receiver.Close)
	variables = append(variables,
		"OPLEDGER_INTERVAL=50ms", "OPLEDGER_WEBHOOK_SECRET=whsec_dHJpYWwgdHJpYWwgdHJpYWwgdHJpYWw=",
		"OPLEDGER_MAX_ATTEMPTS=1", "OPLEDGER_RETRY_FOR=0s", "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		"OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: http, url: '"+receiver.URL+"/hook'}, "+
			"{name: note, on: [FAILED], do: log}]")
	works := commandtest.Serving(t, variables)
	commandtest.Run(t, variables, "register", "batches/report", "--job-kind", "nightly").Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "register", "batches/twice").Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "register", "batches/gone").Want(t, terminal.ExitDone)
	deliver := func(to, event, name string) {
		t.Helper()
		commandtest.Run(t, variables, "webhook", "deliver", event, name, "--to", to+"/webhook").Want(t, terminal.ExitDone)
	}
	deliver(works.URL, "batch.succeeded", "batches/report")
	deliver(works.URL, "batch.failed", "batches/twice")
	deliver(works.URL, "batch.succeeded", "batches/twice")
	become(f, "batches/report", "publish", "DEAD")
	works.Stop()
	paused := append(variables, "OPLEDGER_EFFECTS_PAUSED=true")
	rests := commandtest.Serving(t, paused)
	commandtest.Run(t, paused, "register", "batches/waits").Want(t, terminal.ExitDone)
	deliver(rests.URL, "batch.failed", "batches/waits")
	for limit := time.Now().Add(2 * time.Minute); ; {
		if s := commandtest.Run(t, nil, "status", "--store", f.Store()); strings.Contains(s.Out,
			"that Gemini does not know") {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("%s", s.Out)
		}
	}
	rests.Stop()
	return f, variables
}

var attentionLink = regexp.MustCompile(`<div class="problem [a-z]+"><a href="([^"]+)">([^<]+)</a>`)

// TestTrial: an operator who is given the console alone finds every trouble named on the overview,
// with a link to a page that names the remedy. The terminal says the same.
func TestTrial(t *testing.T) {
	t.Parallel()
	f, variables := trial(t)
	status := commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed).Out
	address, stop := commandtest.ConsoleOver(t, f, variables, "--allow-actions")
	defer stop()
	_, overview := commandtest.Fetch(t, "GET", address+"/", "")
	links := map[string]string{}
	for _, found := range attentionLink.FindAllStringSubmatch(overview, -1) {
		links[found[2]] = html.UnescapeString(found[1])
	}
	for _, trouble := range troubles {
		link := ""
		for words, to := range links {
			if strings.HasPrefix(words, trouble.says) {
				link = to
			}
		}
		if link != trouble.page {
			t.Errorf("%s: the overview leads to %q; it has %q", trouble.what, link, links)
			continue
		}
		if code, page := commandtest.Fetch(t, "GET", address+link, ""); code != http.StatusOK ||
			!strings.Contains(page, trouble.remedy) {
			t.Errorf("%s: %s is answered %d, without %q: %s", trouble.what, link, code, trouble.remedy, page)
		}
		if !strings.Contains(status, trouble.status) {
			t.Errorf("%s: status does not say %q: %s", trouble.what, trouble.status, status)
		}
	}
	for page, action := range map[string]string{
		"batches/report": "do=replay", "batches/gone": "do=abandon", "batches/twice": "do=lookup",
	} {
		if _, text := commandtest.Fetch(t, "GET", address+"/console/operation?key="+page, ""); !strings.Contains(text,
			action) {
			t.Errorf("%s does not offer %s: %s", page, action, text)
		}
	}
}

// TestTrialRemedies: the operator who presses what the pages offer comes to an end of each trouble:
// Gemini's 404 is an answer, a replay waits for the end of the pause, and both say what follows.
func TestTrialRemedies(t *testing.T) {
	t.Parallel()
	f, variables := trial(t)
	address, stop := commandtest.ConsoleOver(t, f, variables, "--allow-actions")
	defer stop()
	for _, c := range []struct {
		commandtest.Pressed
		asks, says string
	}{
		{commandtest.Pressed{Do: "lookup", Key: "batches/twice"}, "What will happen",
			"nothing more can be learned from it. FAILED stands."},
		{commandtest.Pressed{Do: "lookup", Key: "batches/gone"}, "What will happen", "It is looked up again at "},
		{commandtest.Pressed{Do: "resolve", Key: "batches/twice"}, "What will happen",
			"the conflict of batches/twice, FAILED and " +
				"SUCCEEDED, resolved by "},
		{commandtest.Pressed{Do: "replay", Key: "batches/report", Effect: "publish"}, "It runs when the pause ends.",
			"<h1>Enqueued</h1>"},
	} {
		_, question := commandtest.Fetch(t, "GET", address+"/console/ask?do="+c.Do+"&key="+c.Key+"&effect="+c.Effect, "")
		if !strings.Contains(question, c.asks) {
			t.Errorf("%v: the question does not say %q: %s", c.Pressed, c.asks, question)
		}
		if code, page := commandtest.Send(t, address, c.Form(t, address)); code != http.StatusOK ||
			!strings.Contains(page, c.says) {
			t.Errorf("%v: %d, without %q: %s", c.Pressed, code, c.says, page)
		}
	}
	works := commandtest.Serving(t, append(variables, "OPLEDGER_EFFECTS_PAUSED=false"))
	for limit := time.Now().Add(2 * time.Minute); ; { // until the second attempt has failed
		if e := f.Effects("batches/report")["publish"]; e.State == ledger.EffectDead && e.Fence == 2 {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("%+v", e)
		}
	}
	_, page := commandtest.Fetch(t, "GET", address+"/console/operation?key=batches/report", "")
	works.Stop()
	if !strings.Contains(page, "since the replay, 2 in all") || strings.Contains(page, "Effects are paused") {
		t.Errorf("%s", page)
	}
}

var copied = regexp.MustCompile(`data-copy="opledger ([^"]*)"`)

// words splits a command line as a shell does, which knows single quotes alone.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
			continue
		}
		all = append(all, strings.Fields(part)...)
	}
	return all
}

// TestConsoleCommands: the terminal knows each command that a page names, with its flags; one that
// changes nothing runs, and finds what the page shows.
func TestConsoleCommands(t *testing.T) {
	t.Parallel()
	f, variables := trial(t)
	address, stop := commandtest.ConsoleOver(t, f, variables, "--allow-actions")
	defer stop()
	seen := map[string]bool{}
	for _, page := range []string{
		"/console/operation?key=batches/report", "/console/operation?key=batches/gone",
		"/console/operation?key=batches/twice", "/console/operations?show=pending",
		"/console/operations?show=dead&since=night&collection=batches", "/console/operations?show=conflict",
		"/console/operations?state=SUCCEEDED&job=nightly", "/console/effects?show=dead",
		"/console/effects?show=dead&error=500+Internal", "/console/passes",
		"/console/ask?do=waive&key=batches/report&effect=publish",
	} {
		_, text := commandtest.Fetch(t, "GET", address+page, "")
		found := copied.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s names no command: %s", page, text)
		}
		for _, match := range found {
			seen[html.UnescapeString(match[1])] = true
		}
	}
	for line := range seen {
		args := words(line)
		root := root.New(terminal.Environment{})
		command, rest, err := root.Find(args)
		if err == nil {
			err = command.ParseFlags(rest)
		}
		if err != nil {
			t.Errorf("opledger %s: %v", line, err)
		}
		if args[0] == "show" || strings.Contains(line, "--dry-run") {
			if s := commandtest.Run(t, variables, args...).Want(t, terminal.ExitDone); !strings.Contains(s.Out, "batches/") {
				t.Errorf("opledger %s found nothing: %s", line, s.Out)
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("%d commands: %v", len(seen), seen)
	}
}
