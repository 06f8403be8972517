package serve_test

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// troubled is a ledger with something for every action, twice: for the console and for the terminal.
func troubled(t *testing.T) (f commandtest.File, running string, variables []string) {
	t.Helper()
	f = commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)
	f.Dead("batches/page", "batches/terminal", "batches/page2", "batches/terminal2")
	f.Register("batches/page3", "batches/terminal3", "batches/page4", "batches/terminal4")
	f.EndTwice("batches/page4")
	f.EndTwice("batches/terminal4")
	running = commandtest.Batch(t, sim, "job", geminisim.StateRunning)
	f.Register(running)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		body := strings.ReplaceAll(commandtest.Readable, "batches/a", "batches/page3")
		_, err := l.Quarantine.Add(ctx, ledger.Suspect{ID: "msg_3", Reason: "malformed", Body: []byte(body)})
		return err
	})
	return f, running, append(variables, "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: http, url: '"+receiver.URL+"'}]")
}

// become waits until an effect is in a state, and returns it.
func become(f commandtest.File, key operation.Key, effect string, state ledger.EffectState) ledger.Effect {
	f.T.Helper()
	for limit := time.Now().Add(2 * time.Minute); ; {
		e := f.Effects(key)[effect]
		if e.State == state {
			return e
		}
		if time.Now().After(limit) {
			f.T.Fatalf("%s of %s is %s: %s", effect, key, e.State, e.LastError)
		}
	}
}

// TestConsoleActs: what the console does is done and recorded as the command of that name does it.
func TestConsoleActs(t *testing.T) {
	t.Parallel()
	f, running, variables := troubled(t)
	address, stop := commandtest.ConsoleOver(t, f, variables, "--allow-actions")
	who, err := terminal.OperatorName()
	if err != nil {
		t.Fatal(err)
	}
	press := func(p commandtest.Pressed, says string) {
		t.Helper()
		if code, page := commandtest.Send(t, address, p.Form(t, address)); code != http.StatusOK ||
			!strings.Contains(page, html.EscapeString(says)) {
			t.Errorf("%v: %d, without %q: %s", p, code, says, page)
		}
	}
	press(commandtest.Pressed{Do: "lookup", Key: running},
		running+" is RUNNING at Gemini: applied (advanced); the ledger says RUNNING")
	press(commandtest.Pressed{Do: "abandon", Key: "batches/page3"}, "batches/page3 abandoned by "+who+" at ")
	press(commandtest.Pressed{Do: "waive", Key: "batches/page2", Effect: "log"},
		"effect log of batches/page2 waived by "+who+" at ")
	press(commandtest.Pressed{Do: "replay", Key: "batches/page", Effect: "log"},
		"effect log of batches/page was started by this process")
	page := become(f, "batches/page", "log", ledger.EffectDone)
	press(commandtest.Pressed{Do: "rerun", Key: "batches/page", Effect: "log"},
		"effect log of batches/page was started by this process")
	press(commandtest.Pressed{Do: "resolve", Key: "batches/page4"},
		"the conflict of batches/page4, SUCCEEDED and FAILED, resolved by "+who+
			" at ")
	press(commandtest.Pressed{Do: "retry", Key: "msg_3"}, "msg_3: applied (advanced); batches/page3 is SUCCEEDED")
	become(f, "batches/page3", "log", ledger.EffectDone)
	if log := stop(); strings.Contains(log, "ERROR") {
		t.Errorf("%s", log)
	}
	commandtest.Run(t, variables, "abandon", "batches/terminal3", "--reason", "by hand").Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "resolve", "batches/terminal4", "--reason", "by hand").Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "waive", "batches/terminal2", "--effect", "log", "--reason", "by hand").Want(t,
		terminal.ExitDone)
	commandtest.Run(t, variables, "replay", "batches/terminal").Want(t, terminal.ExitDone)
	terminal := f.Effects("batches/terminal")["log"]
	if len(page.Replays) != 1 || page.Replays[0].By != who || terminal.Replays[0].By != who ||
		page.Replays[0].LastError != terminal.Replays[0].LastError || page.Fence != terminal.Fence {
		t.Errorf("replayed by the page %+v, by the terminal %+v", page, terminal)
	}
	waived, also := f.Effects("batches/page2")["log"].Abandoned, f.Effects("batches/terminal2")["log"].Abandoned
	if waived == nil || also == nil || waived.By != also.By || waived.Why != also.Why {
		t.Errorf("waived by the page %+v, by the terminal %+v", waived, also)
	}
	for n, decided := range map[string]func(operation.Record) operation.Decided{
		"3": func(r operation.Record) operation.Decided { return *r.Abandoned },
		"4": func(r operation.Record) operation.Decided {
			return r.ConflictResolved["FAILED"].Decided
		},
	} {
		f.With(func(ctx context.Context, l *ledger.Ledger) error {
			page, err := l.Operations.Read(ctx, operation.Key("batches/page"+n))
			if err != nil {
				return err
			}
			terminal, err := l.Operations.Read(ctx, operation.Key("batches/terminal"+n))
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
	address, stop := commandtest.ConsoleOver(t, f, variables, "--allow-actions")
	defer stop()
	reading, stopReading := commandtest.ConsoleOver(t, f, variables)
	defer stopReading()
	server := commandtest.Serving(t, variables)
	defer server.Stop()
	for _, p := range []commandtest.Pressed{
		{Do: "lookup", Key: running}, {Do: "abandon", Key: "batches/page3"},
		{Do: "waive", Key: "batches/page2", Effect: "log"},
		{Do: "replay", Key: "batches/page", Effect: "log"}, {Do: "retry", Key: "msg_3"},
		{Do: "resolve", Key: "batches/page4"},
	} {
		form := p.Form(t, address)
		for _, header := range [][]string{
			{"Origin", "https://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
			{"Host", "evil.example"}, {"X-Forwarded-For", "203.0.113.9"},
		} {
			if code, page := commandtest.Send(t, address, form, header...); code != http.StatusForbidden {
				t.Errorf("%v with %q: %d %s", p, header, code, page)
			}
		}
		if code, _ := commandtest.Fetch(t, "GET", address+"/console/ask?"+form.Encode(), ""); code != http.StatusOK {
			t.Errorf("%v: the question is answered %d", p, code)
		}
		for _, other := range []string{reading, server.URL} {
			if code, _ := commandtest.Send(t, other, form); code != http.StatusNotFound {
				t.Errorf("%v on a console that only reads: %d", p, code)
			}
		}
	}
	if e := f.Effects("batches/page")["log"]; e.State != ledger.EffectDead || len(e.Replays) > 0 {
		t.Errorf("%+v", e)
	}
	if e := f.Effects("batches/page2")["log"]; e.Abandoned != nil {
		t.Errorf("%+v", e)
	}
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		for _, key := range []operation.Key{"batches/page3", operation.Key(running)} {
			if rec, err := l.Operations.Read(ctx, key); err != nil || rec.Abandoned != nil || rec.State != operation.Pending {
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
	s := commandtest.Serving(t, append(variables, "OPLEDGER_STORE="+f.Store()), "--allow-actions")
	defer s.Stop()
	code, page := commandtest.Send(t, s.URL, commandtest.Pressed{Do: "replay", Key: "batches/page",
		Effect: "log"}.Form(t, s.URL))
	if code != http.StatusOK || !strings.Contains(page, "was started by this process") {
		t.Errorf("%d %s", code, page)
	}
	become(f, "batches/page", "log", ledger.EffectDone)
	s.WantStatus(403, "POST", s.URL+"/console/ask", "Origin", "https://evil.example")
}

// TestConsoleActsWrong: a console that acts needs the settings of what it does.
func TestConsoleActsWrong(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	commandtest.Run(t, []string{"GOOGLE_CLOUD_PROJECT=p"}, "console", "--store", "firestore", "--allow-actions").Want(t,
		terminal.ExitUsage,
		"OPLEDGER_TOPIC: it is not set")
	commandtest.Run(t, []string{"GEMINI_API_KEY= "}, "console", "--store", f.Store(), "--allow-actions").Want(t,
		terminal.ExitUsage,
		"GEMINI_API_KEY: ")
	address, stop := commandtest.ConsoleOver(t, f, nil, "--allow-actions")
	defer stop()
	if _, page := commandtest.Fetch(t, "GET", address+"/console/operation?key=batches/a", ""); !strings.Contains(page,
		"do=replay") {
		t.Errorf("%s", page)
	}
	if code, _ := commandtest.Fetch(t, "GET", address+"/console/ask?do=lookup&key=batches/a",
		""); code != http.StatusBadRequest {
		t.Errorf("a look-up without an API key: %d", code)
	}
}
