package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A result is how a command ended.
type result struct {
	code     int
	out, err string
}

// opledger runs the built command to its end with exactly these variables.
func opledger(t *testing.T, variables []string, args ...string) result {
	t.Helper()
	built := binary(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, built, args...)
	command.Dir, command.Env = t.TempDir(), append([]string{"TMPDIR=" + t.TempDir()}, variables...)
	var out, stderr bytes.Buffer
	command.Stdout, command.Stderr = &out, &stderr
	_ = command.Run() // the code says it
	for _, dir := range []string{command.Dir, strings.TrimPrefix(command.Env[0], "TMPDIR=")} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v leaves %v behind, %v", args, left, err)
		}
	}
	return result{command.ProcessState.ExitCode(), out.String(), stderr.String()}
}

// want checks the code and returns what was printed.
func (r result) want(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\n%s%s", r.code, code, r.out, r.err)
	}
	return r
}

// TestCloudServe: two processes of `opledger serve` on Firestore publish effects to a topic, whose
// subscription pushes them to either; list and show read the same ledger and say on stderr where it
// is.
func TestCloudServe(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	f := newFleet(t, c.backend, 2, geminisim.Config{
		Seed: 5, Faults: geminisim.Normal(), Speed: 800, RunTime: [2]time.Duration{time.Minute, 4 * time.Minute},
	})
	// no process dies, and a busy machine must not look as if one had
	f.settings = append(f.settings, "OPLEDGER_CLAIM_TTL=1m")
	c.push(f.front.URL+"/effects", "")
	c.subscribe(&pubsubpb.Subscription{Name: c.subscription("copy"), Topic: c.topic(topicID)})
	const operations = 30
	outcome := f.play(operations)
	if outcome.repeats != 0 {
		t.Errorf("%d effects were repeated", outcome.repeats)
	}
	t.Logf("%s; %s", outcome, verdict(t))
	if m, err := ledger.ParseMessage(c.pull("copy").GetData()); err != nil || m.Effect != "publish" {
		t.Errorf("published %+v, %v", m, err)
	}
	if t.Failed() {
		return
	}

	var listed struct{ Operations []operation.Record }
	list := opledger(t, c.variables(), "list", "--state", "succeeded", "--collection", "batches", "--limit",
		"500", "--json").want(t, 0)
	if err := json.Unmarshal([]byte(list.out), &listed); err != nil ||
		list.err != `{"note":"the ledger is in firestore"}`+"\n" {
		t.Errorf("%v; stderr %q", err, list.err)
	}
	if len(listed.Operations) < operations/2 {
		t.Fatalf("listed %s", list.out)
	}
	pending := opledger(t, c.variables(), "list", "--pending").want(t, 0)
	if pending.out != "no operation is pending\n" {
		t.Errorf("pending: %s", pending.out)
	}
	key := listed.Operations[0].Key
	for _, r := range listed.Operations {
		if r.Registered {
			key = r.Key
		}
	}
	story := opledger(t, c.variables(), "show", string(key)).want(t, 0)
	if !strings.Contains(story.out, "SUCCEEDED") || !strings.Contains(story.out, "publish") ||
		!strings.Contains(story.out, "DONE") {
		t.Errorf("the story is\n%s", story.out)
	}
	opledger(t, c.variables(), "show", "batches/absent").want(t, 1)
	other := opledger(t, c.variables(), "list", "--store", "firestore:another").want(t, 0)
	if other.out != "no operations\n" || other.err != "opledger: the ledger is in firestore:another\n" {
		t.Errorf("another database: %q %q", other.out, other.err)
	}
}

// TestCloudServeTopicSettings: a topic is some project's, and serve says so before it opens
// anything, together with all else that is wrong.
func TestCloudServeTopicSettings(t *testing.T) {
	t.Parallel()
	r := opledger(t, []string{"OPLEDGER_TOPIC=effects", "OPLEDGER_GRACE=soon"}, "serve", "--port", "0").want(t, 2)
	if strings.Count(r.err, "\n") != 4 || r.out != "" { // how many there are, and each
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
	for _, want := range []string{
		"OPLEDGER_TOPIC: it needs GOOGLE_CLOUD_PROJECT", "OPLEDGER_GRACE: ", "GEMINI_API_KEY: ",
	} {
		if !strings.Contains(r.err, want) {
			t.Errorf("stderr %q does not say %q", r.err, want)
		}
	}
}

// TestCloudTopicIsGone: a topic that does not exist costs nothing but time: what was registered is
// answered for, and the effect waits in the ledger for the sweep [R5, W3].
func TestCloudTopicIsGone(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	p := serveFunction(t, "Webhook", append(c.variables(), "OPLEDGER_WEBHOOK_SECRET="+secret, "OPLEDGER_TOPIC=gone")...)
	r := serveFunction(t, "Register", c.variables()...)
	call{what: "registering", path: "/", body: `{"name":"batches/a"}`, status: 201}.make(t, r.url())
	ended := time.Now().UTC().Format(time.RFC3339Nano) // what ended longer ago than the retention has no effects [L3]
	body := strings.Replace(eventOf("batch.succeeded", "batches/a"), eventTime, ended, 1)
	call{
		what: "a completion", path: "/", header: signed(secret, "msg_1", time.Now(), body), body: body, status: 200,
		want: map[string]any{"outcome": "applied", "registered": true},
	}.make(t, p.url())
	if line := p.line(t, "effect"); line.Severity != "WARNING" || line.Outcome != "unpublished" ||
		!strings.Contains(line.Error, "gone") {
		t.Errorf("logged %+v", line)
	}
	var listed struct{ Operations []operation.Record }
	list := opledger(t, c.variables(), "list", "--json").want(t, 0)
	if err := json.Unmarshal([]byte(list.out), &listed); err != nil || len(listed.Operations) != 1 ||
		listed.Operations[0].Effects["log"] != operation.EffectOpen {
		t.Errorf("%v: %s", err, list.out)
	}
}
