package main

import (
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A trouble is something that an operator must find on the overview, and its remedy behind the link.
type trouble struct{ what, says, page, remedy, status string }

var troubles = []trouble{
	{"a receiver that answers 500", "1 operation with a dead effect", "/console/effects?show=dead",
		"opledger replay --dead --dry-run", "1 operation with a dead effect"},
	{"a job that Gemini does not know", "1 pending operation that Gemini does not know",
		"/console/operations?show=late", "opledger abandon NAME --reason &#39;WHY&#39;",
		"1 pending operation that Gemini does not know"},
	{"a conflicting end", "1 operation that ended in two ways", "/console/operations?show=conflict",
		"opledger reconcile NAME", "1 operation that ended in two ways"},
	{"a paused worker", "Effects are paused", "/console/effects", "OPLEDGER_EFFECTS_PAUSED=false opledger serve",
		"paused"},
}

// trial makes a ledger with the four troubles, each in the way it happens: by serve, and what it is
// sent.
func trial(t *testing.T) (file, []string) {
	t.Helper()
	f := newFile(t)
	_, variables := fakeGemini(t, f)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(receiver.Close)
	variables = append(variables,
		"OPLEDGER_INTERVAL=50ms", "OPLEDGER_WEBHOOK_SECRET=whsec_dHJpYWwgdHJpYWwgdHJpYWwgdHJpYWw=",
		"OPLEDGER_MAX_ATTEMPTS=1", "OPLEDGER_RETRY_FOR=0s", "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		"OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: http, url: '"+receiver.URL+"/hook'}, "+
			"{name: note, on: [FAILED], do: log}]")
	works := serving(t, variables)
	cli(t, variables, "register", "batches/report", "--job-kind", "nightly").want(t, exitDone)
	cli(t, variables, "register", "batches/twice").want(t, exitDone)
	cli(t, variables, "register", "batches/gone").want(t, exitDone)
	deliver := func(to, event, name string) {
		t.Helper()
		cli(t, variables, "webhook", "deliver", event, name, "--to", to+"/webhook").want(t, exitDone)
	}
	deliver(works.url, "batch.succeeded", "batches/report")
	deliver(works.url, "batch.failed", "batches/twice")
	deliver(works.url, "batch.succeeded", "batches/twice")
	f.become("batches/report", "publish", "DEAD")
	works.stop()
	paused := append(variables, "OPLEDGER_EFFECTS_PAUSED=true")
	rests := serving(t, paused)
	cli(t, paused, "register", "batches/waits").want(t, exitDone)
	deliver(rests.url, "batch.failed", "batches/waits")
	for limit := time.Now().Add(2 * time.Minute); ; {
		if s := cli(t, nil, "status", "--store", f.store()); strings.Contains(s.out, "that Gemini does not know") {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("%s", s.out)
		}
	}
	rests.stop()
	return f, variables
}

var attentionLink = regexp.MustCompile(`<div class="problem [a-z]+"><a href="([^"]+)">([^<]+)</a>`)

// TestTrial: an operator who is given the console alone finds every trouble named on the overview,
// with a link to a page that names the remedy. The terminal says the same.
func TestTrial(t *testing.T) {
	t.Parallel()
	f, variables := trial(t)
	status := cli(t, nil, "status", "--store", f.store()).want(t, exitFailed).out
	address, stop := consoleOver(t, f, variables, "--allow-actions")
	defer stop()
	_, overview := fetch(t, "GET", address+"/", "")
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
		if code, page := fetch(t, "GET", address+link, ""); code != http.StatusOK ||
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
		if _, text := fetch(t, "GET", address+"/console/operation?key="+page, ""); !strings.Contains(text, action) {
			t.Errorf("%s does not offer %s: %s", page, action, text)
		}
	}
}

// TestTrialRemedies: the operator who presses what the pages offer comes to an end of each trouble:
// Gemini's 404 is an answer, a replay waits for the end of the pause, and both say what follows.
func TestTrialRemedies(t *testing.T) {
	t.Parallel()
	f, variables := trial(t)
	address, stop := consoleOver(t, f, variables, "--allow-actions")
	defer stop()
	for _, c := range []struct {
		pressed
		asks, says string
	}{
		{pressed{"lookup", "batches/twice", ""}, "What will happen", "nothing more can be learned from it. FAILED stands."},
		{pressed{"lookup", "batches/gone", ""}, "What will happen", "It is looked up again at "},
		{pressed{"resolve", "batches/twice", ""}, "What will happen", "the two ends of batches/twice, FAILED and " +
			"SUCCEEDED, resolved by "},
		{pressed{"replay", "batches/report", "publish"}, "It runs when the pause ends.", "<h1>Handed over</h1>"},
	} {
		_, question := fetch(t, "GET", address+"/console/ask?do="+c.do+"&key="+c.key+"&effect="+c.effect, "")
		if !strings.Contains(question, c.asks) {
			t.Errorf("%v: the question does not say %q: %s", c.pressed, c.asks, question)
		}
		if code, page := send(t, address, c.form(t, address)); code != http.StatusOK || !strings.Contains(page, c.says) {
			t.Errorf("%v: %d, without %q: %s", c.pressed, code, c.says, page)
		}
	}
	works := serving(t, append(variables, "OPLEDGER_EFFECTS_PAUSED=false"))
	for limit := time.Now().Add(2 * time.Minute); ; { // until the second attempt has failed
		if e := f.effects("batches/report")["publish"]; e.State == ledger.EffectDead && e.Fence == 2 {
			break
		} else if time.Now().After(limit) {
			t.Fatalf("%+v", e)
		}
	}
	_, page := fetch(t, "GET", address+"/console/operation?key=batches/report", "")
	works.stop()
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
	address, stop := consoleOver(t, f, variables, "--allow-actions")
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
		_, text := fetch(t, "GET", address+page, "")
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
		root := newRoot(environment{})
		command, rest, err := root.Find(args)
		if err == nil {
			err = command.ParseFlags(rest)
		}
		if err != nil {
			t.Errorf("opledger %s: %v", line, err)
		}
		if args[0] == "show" || strings.Contains(line, "--dry-run") {
			if s := cli(t, variables, args...).want(t, exitDone); !strings.Contains(s.out, "batches/") {
				t.Errorf("opledger %s found nothing: %s", line, s.out)
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("%d commands: %v", len(seen), seen)
	}
}
