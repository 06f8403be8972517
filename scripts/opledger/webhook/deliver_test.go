package webhook_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/test/commandtest"
)

// TestDeliver: a delivery is accepted by serve as one of Gemini's, and each answer is explained.
func TestDeliver(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/r")
	s := commandtest.Serving(t, []string{"OPLEDGER_WEBHOOK_SECRET=" + commandtest.DeliverSecret}, "--store", f.Store())
	for _, c := range []struct {
		args []string
		code int
		says string // on stdout, or in the complaint
	}{
		{[]string{"batch.succeeded", "r", "--id", "m1"}, terminal.ExitDone, "m1 was answered 200 " +
			`{"outcome":"applied","reason":"advanced","registered":true}` +
			"\nbatches/r is SUCCEEDED now, and the effects of that are planned\n"},
		{[]string{"batch.succeeded", "batches/r", "--id", "m1"}, terminal.ExitDone,
			"a delivery with this id was accepted before"},
		{[]string{"batch.succeeded", "batches/r", "--id", "m1", "--json"}, terminal.ExitDone, `"outcome": "duplicate"`},
		{[]string{"batch.succeeded", "batches/r", "--at", "1m"}, terminal.ExitDone,
			"the ledger knows that batches/r is SUCCEEDED, as of"},
		{[]string{"batch.failed", "batches/r"}, terminal.ExitDone, "batches/r had ended in another state, which stays"},
		{[]string{"interaction.completed", "v1_a"}, terminal.ExitDone,
			"interactions/v1_a is recorded as SUCCEEDED and is not registered: no effect runs before " +
				"opledger register interactions/v1_a, on the ledger of the receiver\n"},
		{[]string{"interaction.requires_action", "v1_a"}, terminal.ExitDone,
			"interactions/v1_a has ended already; REQUIRES_ACTION is dropped"},
		{[]string{"batch.failed", "batches/late", "--at", "10m"}, terminal.ExitFailed, "it is too old or too new"},
		{[]string{"batch.failed", "batches/late", "--at", "2020-01-01T00:00:00Z"}, terminal.ExitFailed,
			"it is too old or too new"},
		{[]string{"batch.failed", "x", "--to", s.URL + "/hook"}, terminal.ExitFailed, "no webhook is at " + s.URL +
			"/hook; "},
		{[]string{"batch.failed", "x", "--to", s.URL}, terminal.ExitFailed,
			"no webhook is at " + s.URL + "; serve has it at /webhook"},
		{[]string{"batch.failed", "x", "--to", "http://127.0.0.1:1"}, terminal.ExitFailed,
			"nothing answers at http://127.0.0.1:1: "},
	} {
		args := append([]string{"webhook", "deliver", "--to", s.URL + "/webhook"}, c.args...)
		got := commandtest.Run(t, []string{"OPLEDGER_WEBHOOK_SECRET=" + commandtest.DeliverSecret}, args...).Want(t, c.code)
		said := got.Out
		if c.code != terminal.ExitDone {
			said = got.Complaint(t)
		}
		if !strings.Contains(said, c.says) || strings.Contains(got.Out+got.Err, commandtest.DeliverSecret[:20]) {
			t.Errorf("%q: %q, want %q", c.args, said, c.says)
		}
	}
	other := strings.Replace(commandtest.DeliverSecret, "MDEy", "MDEz", 1)
	forged := []string{"OPLEDGER_WEBHOOK_SECRET=" + other}
	commandtest.Run(t, forged, "webhook", "deliver", "batch.failed", "x", "--to", s.URL+"/webhook").
		Want(t, terminal.ExitFailed, "401", "the receiver has another secret")
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	commandtest.Run(t, []string{"OPLEDGER_WEBHOOK_SECRET=" + commandtest.DeliverSecret, "OPLEDGER_STORE=sqlite:l.db"},
		"webhook", "deliver", "batch.failed", "y", "--to", s.URL+"/webhook").Want(t, terminal.ExitDone).Says(t,
		"no effect runs before opledger register batches/y --store sqlite:"+filepath.Join(folder, "l.db")+"\n")
	s.Stop()
	shown := commandtest.Run(t, nil, "show", "batches/r", "--store", f.Store()).Want(t, terminal.ExitDone)
	if !strings.Contains(shown.Out, "SUCCEEDED") || !strings.Contains(shown.Out, "FAILED") {
		t.Errorf("the conflict is not in the ledger: %s", shown.Out)
	}
}

// TestDeliverBySecretManager: of the secret in Secret Manager the version that was added last
// signs, so that a deployment accepts it.
func TestDeliverBySecretManager(t *testing.T) {
	t.Parallel()
	secrets, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer secrets.Close()
	const name = "projects/p/secrets/webhook"
	secrets.Put(name, strings.Replace(commandtest.DeliverSecret, "MDEy", "MDEz", 1), time.Now().Add(-time.Hour))
	secrets.Put(name, commandtest.DeliverSecret, time.Now())
	s := commandtest.Serving(t, []string{"OPLEDGER_WEBHOOK_SECRET=" + commandtest.DeliverSecret})
	variables := []string{"OPLEDGER_WEBHOOK_SECRET=" + name, "SECRET_MANAGER_EMULATOR_HOST=" + secrets.Addr()}
	commandtest.Run(t, variables, "webhook", "deliver", "video.generated", "operations/v", "--to",
		s.URL+"/webhook").Want(t, terminal.ExitDone)
	variables[0] += "-missing"
	commandtest.Run(t, variables, "webhook", "deliver", "video.generated", "operations/v", "--to", s.URL+"/webhook").
		Want(t, terminal.ExitFailed, "OPLEDGER_WEBHOOK_SECRET: ", "projects/p/secrets/webhook-missing")
	s.Stop()
}

// TestDeliverRefusals: what can be known before is refused before anything is sent, with all that
// there is to choose from.
func TestDeliverRefusals(t *testing.T) {
	t.Parallel()
	reached := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Error("something was sent")
		w.WriteHeader(http.StatusOK)
	}))
	defer reached.Close()
	set := []string{"OPLEDGER_WEBHOOK_SECRET=" + commandtest.DeliverSecret}
	for _, c := range []struct {
		set, args []string
		want      string
	}{
		{set, []string{"batch.succeded", "x"}, `there is no event "batch.succeded"; did you mean batch.succeeded?; ` +
			`the events are batch.succeeded, batch.failed, batch.expired, interaction.completed, interaction.failed, ` +
			`interaction.requires_action, video.generated, batch.cancelled, interaction.cancelled`},
		{set, []string{"batch.failed", "a\ufffd"}, `name: not an operation's name: `},
		{set, []string{"batch.failed", "my batch"},
			`name: no operation at Gemini is called "my batch"; a name is batches/ID, `},
		{set, []string{"batch.failed", "jobs-of-mine/x"}, `name: no operation at Gemini is called "jobs-of-mine/x"; `},
		{set, []string{"video.generated", "batches/x"},
			`name: "batches/x" does not fit video.generated, which is about one of operations/`},
		{set, []string{"batch.succeeded", "interactions/x"},
			`name: "interactions/x" does not fit batch.succeeded, which is about one of batches/`},
		{set, []string{"batch.failed", "x", "--at", "soon"}, `--at: "soon" is neither a duration such as 24h nor a time`},
		{set, []string{"batch.failed", "x", "--id", "a b"}, `--id: it must be printable ASCII without spaces, such as msg_1`},
		{set, []string{"batch.failed", "x", "--to", "localhost:8080"}, `--to: it must be the http or https URL of a webhook`},
		{nil, []string{"batch.failed", "x"}, `OPLEDGER_WEBHOOK_SECRET: it is not set; set it to the secret of the webhook`},
		{[]string{"OPLEDGER_WEBHOOK_SECRET=hunter2"}, []string{"batch.failed", "x"},
			`OPLEDGER_WEBHOOK_SECRET: webhook secret is malformed: `},
	} {
		got := commandtest.Run(t, c.set, append([]string{"webhook", "deliver", "--to", reached.URL}, c.args...)...).Want(t,
			terminal.ExitUsage)
		if said := got.Complaint(t); !strings.HasPrefix(said, c.want) || strings.Contains(said, "hunter2") {
			t.Errorf("%q: %s, want %s", c.args, said, c.want)
		}
	}
}

// TestDeliverElsewhere: an answer of 200 that is not the webhook's is no success, and neither is a
// redirect, which Gemini does not follow.
func TestDeliverElsewhere(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		http.StatusOK:                 "what answers at ",
		http.StatusFound:              "it is not accepted; Gemini would deliver it again",
		http.StatusBadGateway:         "it is not accepted; Gemini would deliver it again",
		http.StatusUnauthorized:       "no webhook is at ",
		http.StatusForbidden:          "the webhook is not public there",
		http.StatusServiceUnavailable: "it is not accepted now, and nothing is lost",
	} {
		elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = w.Write([]byte("<html>\x1b[2J")) // the caller may have gone
		}))
		got := commandtest.Run(t, []string{"OPLEDGER_WEBHOOK_SECRET=" + commandtest.DeliverSecret}, "webhook", "deliver",
			"batch.failed", "x", "--to",
			elsewhere.URL).Want(t, terminal.ExitFailed, want)
		if strings.Contains(got.Err, "\x1b") {
			t.Errorf("the answer commands the terminal: %q", got.Err)
		}
		elsewhere.Close()
	}
}
