package effects_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// asked is the data of an operator's message, as for `gcloud pubsub topics publish`.
func asked(effect, more string) string {
	return fmt.Sprintf(`{"operation":"batches/a","effect":%q%s}`, effect, more)
}

// from returns a message with another message id than the usual.
func from(id string, arrives func(string) (http.Header, string), data string) (http.Header, string) {
	header, body := arrives(data)
	return header, strings.ReplaceAll(body, `"messageId":"7","message_id":"7"`,
		fmt.Sprintf(`"messageId":%q,"message_id":%[1]q`, id))
}

// replays are messages in order, with their answers.
var replays = []struct {
	what, id, data                  string
	status                          int
	outcome, reason, replay, detail string
}{
	{"the ledger's own", "1", message("dies"), 200, "dead", "claimed", "", ""},
	{"the ledger's own, late", "2", message("dies"), 200, "skipped", "dead", "", ""},
	{"an operator's", "3", asked("dies", ""), 200, "dead", "claimed", "reopened", ""},
	{"redelivered", "3", asked("dies", ""), 200, "skipped", "dead", "repeated", ""},
	{"another operator's", "4", asked("dies", `,"by":"me","later":{"x":1}`), 200, "dead", "claimed", "reopened", ""},
	{"of what is open", "5", asked("finishes", ""), 200, "finished", "claimed", "", ""},
	{"of what is done", "6", asked("finishes", ""), 200, "skipped", "done", "", ""},
	{"rerun", "8", asked("finishes", `,"rerun":"fix-1","by":"me"`), 200, "finished", "claimed", "planned-rerun", ""},
	{"rerun, redelivered", "8", asked("finishes", `,"rerun":"fix-1"`), 200, "skipped", "done", "repeated", ""},
	{"the same run by another message", "9", asked("finishes", `,"rerun":"fix-1"`), 200, "skipped", "done", "", ""},
	{"another run", "9", asked("finishes", `,"rerun":"fix-2"`), 200, "finished", "claimed", "planned-rerun", ""},
	{"rerun while the first is held", "10", asked("hangs", `,"rerun":"fix-1"`), 200, "held", "held", "planned-rerun", ""},
	{"a rule's that no settings have", "11", asked("absent", ""), 200, "skipped", "absent", "", `no effect is named`},
	{"of another revision's", "12", asked("stranger", ""), 503, "unknown", "", "", ""},
	{"no such operation", "13", `{"operation":"batches/none","effect":"finishes"}`, 200, "skipped", "absent", "",
		"no such operation"},
	{"rerun of no such operation", "14", `{"operation":"batches/none","effect":"finishes","rerun":"n"}`, 200, "skipped",
		"absent",
		"", "no such operation"},
	{"rerun, and no nonce", "15", asked("finishes", `,"rerun":"a/b"`), 400, "", "", "", ""},
	{"rerun, and no text", "15", asked("finishes", `,"rerun":true`), 400, "", "", "", ""},
	{"rerun of a run", "15", asked("finishes@fix-1", `,"rerun":"b"`), 400, "", "", "", ""},
	{"rerun with an alert's name", "15", asked("finishes", `,"rerun":"stuck-1"`), 400, "", "", "", ""},
	{"rerun by the ledger", "15", asked("finishes", `,"rerun":"b","attempt":1`), 400, "", "", "", ""},
}

// TestReplay: an operator's message, in every form, reopens what is dead, once. It reruns what is
// done only if it asks for a rerun. Otherwise the answer has the reason [G5].
func TestReplay(t *testing.T) {
	t.Parallel()
	for form, arrives := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, c := range replays {
				header, body := from(c.id, arrives, c.data)
				r := w.request(http.MethodPost, header, body)
				var got struct{ Outcome, Reason, Replay, Detail string }
				if err := json.Unmarshal([]byte(r.Text), &got); err != nil {
					t.Fatal(err)
				}
				if r.Status != c.status || c.status == 200 && (got.Outcome != c.outcome || got.Reason != c.reason ||
					got.Replay != c.replay ||
					!strings.Contains(got.Detail, c.detail) || (got.Detail == "") != (c.detail == "")) {
					t.Errorf("%s: %d %s, want %+v", c.what, r.Status, r.Text, c)
				}
			}
			if got, want := strings.Join(w.ran, " "), "dies dies dies finishes finishes finishes"; got != want {
				t.Errorf("performed %s, want %s", got, want)
			}
			w.server.Close()
			log := w.log.String()
			for _, line := range []string{`"replay":"reopened","by":"me","delivery":"4"`,
				`"run":"finishes@fix-1","replay":"planned-rerun","by":"me"`,
				`"severity":"WARNING","message":"effect","event":"effect","operation":"batches/none"`} {
				if !strings.Contains(log, line) {
					t.Errorf("the log has no %s: %s", line, log)
				}
			}
		})
	}
}

// TestReplayWithoutAnID: a CloudEvent's own id is used if the message has none. A push with neither
// reopens nothing, because its redelivery would look like another message.
func TestReplayWithoutAnID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.request(http.MethodPost, nil, push(message("dies")))
	bare := strings.ReplaceAll(push(asked("dies", "")), `,"messageId":"7","message_id":"7"`, "")
	for _, c := range []struct {
		what   string
		header http.Header
		want   string
	}{
		{"push", nil, ""}, {"event", binary(), "reopened"}, {"event, redelivered", binary(), "repeated"},
	} {
		r := w.request(http.MethodPost, c.header, bare)
		var got struct{ Replay string }
		if err := json.Unmarshal([]byte(r.Text), &got); err != nil || r.Status != http.StatusOK || got.Replay != c.want {
			t.Errorf("%s: %d %s, want %q", c.what, r.Status, r.Text, c.want)
		}
	}
}

// TestReplayOfWhatWasNeverPlanned: the effect of a rule that came after the operation's end is
// planned by an operator's message.
func TestReplayOfWhatWasNeverPlanned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, err := ledger.New(w.store, ledger.DefaultSettings(), ledger.Options{}) // without rules
	if err != nil {
		t.Fatal(err)
	}
	name := operation.Name{Key: "batches/late", Resource: "batches/late"}
	if _, err := l.Operations.Register(t.Context(), ledger.Registration{Name: name}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Operations.Ingest(t.Context(), operation.Event{Name: name, DeliveryID: "m", Source: operation.Webhook,
		State: operation.Succeeded}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"outcome":"finished","reason":"claimed","attempt":1,"replay":"planned"`,
		`"outcome":"skipped","reason":"done"`} {
		if r := w.request(http.MethodPost, nil, push(`{"operation":"batches/late",`+
			`"effect":"finishes"}`)); !strings.Contains(r.Text, want) {
			t.Errorf("%d %s, want %s", r.Status, r.Text, want)
		}
	}
}
