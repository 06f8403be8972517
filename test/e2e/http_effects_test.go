package e2e

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestHTTPReconcile is the contract's row of POST /reconcile.
func TestHTTPReconcile(t *testing.T) {
	t.Parallel()
	_, url := alone(t)
	call{what: "a pass", path: "/reconcile", status: 200, want: map[string]any{"due": 0.0, "more": false},
		keys: []string{"checked", "due", "effectsRequeued", "effectsUncertain", "errors", "missing", "more",
			"newer", "oldestEffectSeconds", "oldestOperationSeconds", "running", "settled", "stuck", "unknown"}}.make(t, url)
	call{
		what: "GET", method: http.MethodGet, path: "/reconcile", status: 405,
		heads: map[string]string{"Allow": "POST"},
	}.make(t, url)
}

// TestHTTPStoreDown: what cannot be read or written is answered 503 with Retry-After, so that it is
// sent again [W3, M6].
func TestHTTPStoreDown(t *testing.T) {
	t.Parallel()
	f, url := alone(t)
	path, _ := strings.CutPrefix(f.backend.variables[0], "OPLEDGER_STORE=sqlite:")
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(120000)")
	if err == nil {
		_, err = db.Exec("DROP TABLE documents")
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	body := eventOf("batch.succeeded", "batches/a")
	for _, c := range []call{
		{what: "webhook", path: "/webhook", header: signed(f.secret, "msg_1", time.Now(), body), body: body, status: 503},
		{what: "register", path: "/register", body: `{"name":"batches/a"}`, status: 503},
		{what: "reconcile", path: "/reconcile", status: 503},
		{what: "effects", path: "/effects", body: push("batches/a", "publish"), status: 503},
		{what: "ready", method: http.MethodGet, path: "/ready", status: 503},
		{what: "health", method: http.MethodGet, path: "/health", status: 200},
	} {
		c.make(t, url)
	}
}

// push is a plain Pub/Sub push of a message about an effect.
func push(operation, effect string) string {
	return fmt.Sprintf(
		`{"message":{"data":%q,"messageId":"1","attributes":{}},"subscription":"projects/p/subscriptions/s"}`,
		data(operation, effect))
}

func data(operation, effect string) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, `{"operation":%q,"effect":%q}`, operation, effect))
}

// plan makes operations with an effect that is open, without telling the process.
func (f *fleet) plan(names ...string) {
	f.t.Helper()
	f.planAndTell(nil, names...)
}

// planAndTell makes operations with an effect that is open, and hands its message over.
func (f *fleet) planAndTell(publisher ledger.Publisher, names ...string) {
	f.t.Helper()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(f.backend.store(), settings, ledger.Options{Publisher: publisher})
	if err != nil {
		f.t.Fatal(err)
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(8)
	for _, text := range names {
		group.Go(func() error {
			name, err := operation.ParseName(text, "")
			if err == nil {
				_, err = l.Operations.Register(ctx, ledger.Registration{Name: name})
			}
			if err == nil {
				_, err = l.Operations.Ingest(
					ctx,
					operation.Event{
						Name: name, DeliveryID: "d", Source: operation.Webhook, State: operation.Succeeded,
						UpdateTime: time.Now(),
					},
				)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		f.t.Fatal(err)
	}
}

// TestHTTPEffects is the contract's row of POST /effects: every form of a message, and every answer
// [G5, K1, S1, S2, S4, S9].
func TestHTTPEffects(t *testing.T) {
	t.Parallel()
	held, release := make(chan struct{}), make(chan struct{})
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch key := r.Header.Get("Idempotency-Key"); key {
		case "gemini:batches/fails#publish":
			w.Header().Set("Retry-After", "77")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "gemini:batches/refused#publish":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case "gemini:batches/held#publish":
			close(held)
			<-release
		}
	}))
	f := newFleet(t, inFile(t), 1, geminisim.Config{Speed: 1000})
	f.args = []string{"--schedule=false"}
	f.settings = []string{"OPLEDGER_CLAIM_TTL=10m", "OPLEDGER_INTERVAL=1h",
		fmt.Sprintf("OPLEDGER_EFFECTS=[{name: publish, do: http, url: %q, on: [SUCCEEDED]}]", sink.URL)}
	f.plan("batches/swept")
	f.start()
	t.Cleanup(sink.Close) // before the process ends, which has given up all effects by then
	// The sweep that every process begins with is over; the next would come in an hour. It says so before
	// the process says where it serves, or after.
	f.within(patience, "the process is ready, and what was open at the start is done", func() bool {
		p := f.instances[0].process()
		return p.url() != "" && slices.Contains(p.about("batches/swept"), "finished")
	})
	url := f.instances[0].process().url()
	f.plan("batches/plain", "batches/binary", "batches/structured", "batches/fails", "batches/refused", "batches/held")

	said := func(outcome, reason string) map[string]any {
		return map[string]any{"outcome": outcome, "reason": reason}
	}
	effects := func(what, body string, status int, want map[string]any) call {
		return call{what: what, path: "/effects", body: body, status: status, want: want}
	}
	ceType := "google.cloud.pubsub.topic.v1.messagePublished"
	binary := func(kind string) http.Header {
		return http.Header{"Ce-Id": {"1"}, "Ce-Specversion": {"1.0"}, "Ce-Type": {kind},
			"Ce-Source": {"//pubsub.googleapis.com/projects/p/topics/t"}, "Content-Type": {"application/json"}}
	}
	for _, c := range []call{
		effects("plain push", push("batches/plain", "publish"), 200, said("finished", "claimed")),
		effects("repeated [S2]",
			push("https://generativelanguage.googleapis.com/v1beta/batches/plain/", "publish"), 200, said("skipped", "done")),
		{what: "binary CloudEvent", path: "/effects", header: binary(ceType),
			body:   push(" projects/p/BATCHES/binary", "publish"),
			status: 200, want: said("finished", "claimed")},
		{what: "structured CloudEvent", path: "/effects",
			header: http.Header{"Content-Type": {"application/cloudevents+json"}},
			body: fmt.Sprintf(`{"id":"1","specversion":"1.0","type":%q,"source":"//pubsub.googleapis.com/projects/p/topics/t",`+
				`"datacontenttype":"application/json","data":%s}`, ceType, push("batches/structured", "publish")),
			status: 200, want: said("finished", "claimed")},
		{what: "another event", path: "/effects",
			header: binary("google.cloud.storage.object.v1.finalized"), body: push("batches/plain", "publish"), status: 400},
		effects("an unknown operation", push("batches/absent", "publish"), 200, said("skipped", "absent")),
		effects("no such effect", push("batches/plain", "other"), 200, said("skipped", "absent")),
		effects("failing [S4, S10]", push("batches/fails", "publish"), 200, said("failed", "claimed")),
		effects("failing a moment ago", push("batches/fails", "publish"), 200, said("early", "backing-off")),
		effects("refused for good", push("batches/refused", "publish"), 200, said("dead", "claimed")),
		effects("dead", push("batches/refused", "publish"), 200, said("skipped", "dead")),
		effects("no push", `x`, 400, nil),
		effects("no message", `{}`, 400, nil),
		effects("no data", `{"message":{}}`, 400, nil),
		effects("data that is no JSON", `{"message":{"data":"eA=="}}`, 400, nil),
		effects("no effect named", push("batches/plain", ""), 400, nil),
		effects("no operation named", push("", "publish"), 400, nil),
		{what: "GET", method: http.MethodGet, path: "/effects", status: 405, heads: map[string]string{"Allow": "POST"}},
	} {
		c.make(t, url)
	}
	first := make(chan struct{})
	go func() {
		defer close(first)
		effects("the holder", push("batches/held", "publish"), 200, said("finished", "claimed")).make(t, url)
	}()
	<-held
	effects("held by another [S2]", push("batches/held", "publish"), 200, said("held", "held")).make(t, url)
	close(release)
	<-first
}
