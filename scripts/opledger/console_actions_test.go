package main

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A pressed is a request that acts, for a test's table.
type pressed struct{ do, key, effect string }

var hidden = regexp.MustCompile(`name="([a-z]+)" value="([^"]*)"`)

// send posts a form to a console, and returns the status and the page.
func send(t *testing.T, address string, form url.Values, header ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "POST", address+"/console/ask",
		strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	if host := request.Header.Get("Host"); host != "" {
		request.Host = host
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// form returns the form of the question before an action.
func (p pressed) form(t *testing.T, address string) url.Values {
	t.Helper()
	code, page := fetch(t, "GET", address+"/console/ask?"+url.Values{
		"do": {p.do}, "key": {p.key}, "effect": {p.effect}}.Encode(), "")
	if code != http.StatusOK {
		t.Fatalf("%v: %d %s", p, code, page)
	}
	form := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(page, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	if form.Has("why") {
		form.Set("why", "by hand")
	}
	return form
}

// troubled is a ledger with something for every action, twice: for the console and for the terminal.
func troubled(t *testing.T) (f file, running string, variables []string) {
	t.Helper()
	f = newFile(t)
	sim, variables := fakeGemini(t, f)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	f.dead("batches/page", "batches/terminal", "batches/page2", "batches/terminal2")
	f.register("batches/page3", "batches/terminal3", "batches/page4", "batches/terminal4")
	f.endTwice("batches/page4")
	f.endTwice("batches/terminal4")
	running = batch(t, sim, "job", geminisim.StateRunning)
	f.register(running)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		body := strings.ReplaceAll(readable, "batches/a", "batches/page3")
		_, err := l.Quarantine(ctx, ledger.Suspect{ID: "msg_3", Reason: "malformed", Body: []byte(body)})
		return err
	})
	return f, running, append(variables, "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: http, url: '"+receiver.URL+"'}]")
}

// become waits until an effect is in a state, and returns it.
func (f file) become(key operation.Key, effect string, state ledger.EffectState) ledger.Effect {
	f.t.Helper()
	for limit := time.Now().Add(2 * time.Minute); ; {
		e := f.effects(key)[effect]
		if e.State == state {
			return e
		}
		if time.Now().After(limit) {
			f.t.Fatalf("%s of %s is %s: %s", effect, key, e.State, e.LastError)
		}
	}
}

// TestConsoleActs: what the console does is done and recorded as the command of that name does it.
func TestConsoleActs(t *testing.T) {
	t.Parallel()
	f, running, variables := troubled(t)
	address, stop := consoleOver(t, f, variables, "--allow-actions")
	who, err := operatorName()
	if err != nil {
		t.Fatal(err)
	}
	press := func(p pressed, says string) {
		t.Helper()
		if code, page := send(t, address, p.form(t, address)); code != http.StatusOK ||
			!strings.Contains(page, html.EscapeString(says)) {
			t.Errorf("%v: %d, without %q: %s", p, code, says, page)
		}
	}
	press(pressed{"lookup", running, ""}, running+" is RUNNING at Gemini: applied (advanced); the ledger says RUNNING")
	press(pressed{"abandon", "batches/page3", ""}, "batches/page3 abandoned by "+who+" at ")
	press(pressed{"waive", "batches/page2", "log"}, "effect log of batches/page2 waived by "+who+" at ")
	press(pressed{"replay", "batches/page", "log"}, "effect log of batches/page was started by this process")
	page := f.become("batches/page", "log", ledger.EffectDone)
	press(pressed{"rerun", "batches/page", "log"}, "effect log of batches/page was started by this process")
	press(pressed{"resolve", "batches/page4", ""}, "the two ends of batches/page4, SUCCEEDED and FAILED, resolved by "+who+
		" at ")
	press(pressed{"retry", "msg_3", ""}, "msg_3: applied (advanced); batches/page3 is SUCCEEDED")
	f.become("batches/page3", "log", ledger.EffectDone)
	if log := stop(); strings.Contains(log, "ERROR") {
		t.Errorf("%s", log)
	}
	cli(t, variables, "abandon", "batches/terminal3", "--reason", "by hand").want(t, exitDone)
	cli(t, variables, "resolve", "batches/terminal4", "--reason", "by hand").want(t, exitDone)
	cli(t, variables, "waive", "batches/terminal2", "--effect", "log", "--reason", "by hand").want(t, exitDone)
	cli(t, variables, "replay", "batches/terminal").want(t, exitDone)
	terminal := f.effects("batches/terminal")["log"]
	if len(page.Replays) != 1 || page.Replays[0].By != who || terminal.Replays[0].By != who ||
		page.Replays[0].LastError != terminal.Replays[0].LastError || page.Fence != terminal.Fence {
		t.Errorf("replayed by the page %+v, by the terminal %+v", page, terminal)
	}
	waived, also := f.effects("batches/page2")["log"].Abandoned, f.effects("batches/terminal2")["log"].Abandoned
	if waived == nil || also == nil || waived.By != also.By || waived.Why != also.Why {
		t.Errorf("waived by the page %+v, by the terminal %+v", waived, also)
	}
	for n, decided := range map[string]func(operation.Record) operation.Abandonment{
		"3": func(r operation.Record) operation.Abandonment { return *r.Abandoned },
		"4": func(r operation.Record) operation.Abandonment { return r.ConflictResolved["FAILED"].Abandonment },
	} {
		f.with(func(ctx context.Context, l *ledger.Ledger) error {
			page, err := l.Record(ctx, operation.Key("batches/page"+n))
			if err != nil {
				return err
			}
			terminal, err := l.Record(ctx, operation.Key("batches/terminal"+n))
			if one, other := decided(page), decided(terminal); err == nil && (one.By != other.By || one.Why != other.Why) {
				t.Errorf("decided by the page %+v, by the terminal %+v", one, other)
			}
			return err
		})
	}
}

// TestConsoleActsReach: no other origin, no other host and no GET acts, whatever the action; and no
// console that was not told to [G7].
func TestConsoleActsReach(t *testing.T) {
	t.Parallel()
	f, running, variables := troubled(t)
	address, stop := consoleOver(t, f, variables, "--allow-actions")
	defer stop()
	reading, stopReading := consoleOver(t, f, variables)
	defer stopReading()
	server := serving(t, variables)
	defer server.stop()
	for _, p := range []pressed{
		{"lookup", running, ""}, {"abandon", "batches/page3", ""}, {"waive", "batches/page2", "log"},
		{"replay", "batches/page", "log"}, {"retry", "msg_3", ""}, {"resolve", "batches/page4", ""},
	} {
		form := p.form(t, address)
		for _, header := range [][]string{
			{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
			{"Host", "evil.example"}, {"X-Forwarded-For", "203.0.113.9"},
		} {
			if code, page := send(t, address, form, header...); code != http.StatusForbidden {
				t.Errorf("%v with %q: %d %s", p, header, code, page)
			}
		}
		if code, _ := fetch(t, "GET", address+"/console/ask?"+form.Encode(), ""); code != http.StatusOK {
			t.Errorf("%v: the question is answered %d", p, code)
		}
		for _, other := range []string{reading, server.url} {
			if code, _ := send(t, other, form); code != http.StatusNotFound {
				t.Errorf("%v on a console that only reads: %d", p, code)
			}
		}
	}
	if e := f.effects("batches/page")["log"]; e.State != ledger.EffectDead || len(e.Replays) > 0 {
		t.Errorf("%+v", e)
	}
	if e := f.effects("batches/page2")["log"]; e.Abandoned != nil {
		t.Errorf("%+v", e)
	}
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		for _, key := range []operation.Key{"batches/page3", operation.Key(running)} {
			if rec, err := l.Record(ctx, key); err != nil || rec.Abandoned != nil || rec.State != operation.Pending {
				t.Errorf("%+v: %v", rec, err)
			}
		}
		return nil
	})
}

// TestServeActs: serve allows actions where it is told to.
func TestServeActs(t *testing.T) {
	t.Parallel()
	f, _, variables := troubled(t)
	s := serving(t, append(variables, "OPLEDGER_STORE="+f.store()), "--allow-actions")
	defer s.stop()
	code, page := send(t, s.url, pressed{"replay", "batches/page", "log"}.form(t, s.url))
	if code != http.StatusOK || !strings.Contains(page, "was started by this process") {
		t.Errorf("%d %s", code, page)
	}
	f.become("batches/page", "log", ledger.EffectDone)
	s.wantStatus(403, "POST", s.url+"/console/ask", "Origin", "https://evil.example")
}

// TestConsoleActsWrong: a console that acts needs the settings of what it does.
func TestConsoleActsWrong(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	cli(t, []string{"GOOGLE_CLOUD_PROJECT=p"}, "console", "--store", "firestore", "--allow-actions").want(t, exitUsage,
		"OPLEDGER_TOPIC: it is not set")
	cli(t, []string{"GEMINI_API_KEY= "}, "console", "--store", f.store(), "--allow-actions").want(t, exitUsage,
		"GEMINI_API_KEY: ")
	address, stop := consoleOver(t, f, nil, "--allow-actions")
	defer stop()
	if _, page := fetch(t, "GET", address+"/console/operation?key=batches/a", ""); !strings.Contains(page, "do=replay") {
		t.Errorf("%s", page)
	}
	if code, _ := fetch(t, "GET", address+"/console/ask?do=lookup&key=batches/a", ""); code != http.StatusBadRequest {
		t.Errorf("a look-up without an API key: %d", code)
	}
}
