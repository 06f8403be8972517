package infra_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	effecthttp "github.com/opledger/opledger/shared/effect/http"
	effectlog "github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	sharedreconcile "github.com/opledger/opledger/shared/reconcile"
	secrets "github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

// An oncall is a deployment of the four functions, with everything of Google's that a playbook's commands
// reach: gcloud, the topic, Secret Manager, Gemini, and a public address.
type oncall struct {
	*world
	folder string // of the operator: gcloud and opledger
	gcloud string // its address
	topic  *queue

	secrets *secretsim.Sim
	reads   *secrets.Client  // as the functions read it
	gemini  *httptest.Server // in front of the world's, which refuses a key that was revoked
	revoked string
	site    *httptest.Server // the webhook's public address
	at      *sharedreconcile.Endpoint

	mu       sync.Mutex // of what is below: a command of gcloud runs beside the push
	follows  bool       // the functions' clock is now that of the operator's program
	ahead    time.Duration
	entries  []entry
	since    lines               // what the functions printed since it was last asked for
	bindings map[string][]string // of a resource: "ROLE MEMBER"
	settings map[string]map[string]string
	revision map[string][]string // of a service, newest first
	active   map[string]string
	broken   map[string]bool // revisions that do not start
	paused   bool            // the scheduler's job
	code     int             // of its last attempt
	dead     []string        // what the dead-letter subscription holds
	waiting  []string        // messages of strangers, which are pushed again and again
}

const (
	shiftProject = "my-project"
	storedSecret = "projects/" + shiftProject + "/secrets/opledger-webhook-secret"
	storedKey    = "projects/" + shiftProject + "/secrets/opledger-gemini-api-key"
)

func member(name string) string {
	return "serviceAccount:opledger-" + name + "@" + shiftProject + ".iam.gserviceaccount.com"
}

// newOncall deploys everything. Its clock is half a day behind that of the operator's program, so that a
// test has the time for what takes hours.
func newOncall(t *testing.T) *oncall {
	t.Helper()
	built, err := program()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.clock.Set(time.Now().UTC().Truncate(time.Second).Add(-12 * time.Hour))
	o := &oncall{
		world: w, folder: t.TempDir(), since: lines{}, broken: map[string]bool{},
		revision: map[string][]string{}, active: map[string]string{}, settings: map[string]map[string]string{},
		bindings: map[string][]string{
			"run opledger-webhook":           {"roles/run.invoker allUsers"},
			"run opledger-effects":           {"roles/run.invoker " + member("push")},
			"run opledger-reconcile":         {"roles/run.invoker " + member("scheduler")},
			"topic opledger-effects":         {"roles/pubsub.publisher " + member("webhook")},
			"secret opledger-webhook-secret": {"roles/secretmanager.secretAccessor " + member("webhook")},
		},
	}
	w.effects = []spec.Spec{
		{Name: "publish", Do: &effecthttp.Do{URL: w.receiver.URL}, On: ends},
		{Name: "note", Do: &effectlog.Do{}, Alerts: ledger.Alerts()},
		{Name: "each", Do: &effecthttp.Do{URL: w.receiver.URL}, Each: "item", On: []operation.State{operation.Succeeded}},
	}
	_ = w.store.Close()
	w.openLedger()
	o.openGoogle()
	o.openSite()
	o.deploy()
	err = errors.Join(
		os.Symlink(built, filepath.Join(o.folder, "opledger")),
		os.WriteFile(filepath.Join(o.folder, "gcloud"), []byte(pretendedGcloud), 0o700),
		os.WriteFile(filepath.Join(o.folder, "state"), nil, 0o600),
		os.WriteFile(filepath.Join(o.folder, "site.pem"),
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: o.site.Certificate().Raw}), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// openGoogle starts the topic, Secret Manager and gcloud, and has Gemini refuse a key that was revoked.
func (o *oncall) openGoogle() {
	o.Helper()
	o.topic = newQueue(o.T)
	var err error
	if o.secrets, err = secretsim.Start(secretsim.Config{}); err != nil {
		o.Fatal(err)
	}
	o.Cleanup(o.secrets.Close)
	o.secrets.Put(storedKey, "key", o.clock.Now())
	o.reads = secrets.New(secrets.Options{Emulator: o.secrets.Addr()})
	o.Cleanup(func() { _ = o.reads.Close() })
	o.gemini = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("X-Goog-Api-Key"); key != "" && key == o.revoked {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusForbidden)
			_, _ = rw.Write([]byte(`{"error":{"code":403,"message":"API key not valid","status":"PERMISSION_DENIED"}}`))
			return
		}
		o.api.Config.Handler.ServeHTTP(rw, r)
	}))
	o.gcloud = o.serveGcloud()
	o.Cleanup(func() {
		o.gemini.CloseClientConnections()
		o.gemini.Close()
	})
}

// openSite serves the webhook's public address, and makes Gemini's webhook for it.
func (o *oncall) openSite() {
	o.Helper()
	o.site = httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if !o.granted("run opledger-webhook", "roles/run.invoker", "allUsers") {
			o.platform("webhook", http.StatusForbidden, r.UserAgent())
			http.Error(rw, "forbidden", http.StatusForbidden)
			return
		}
		if r.Method == http.MethodPost && r.Header.Get(byTest) == "" {
			return // of the simulator, at a time of its own
		}
		o.webhookThatReads().ServeHTTP(rw, r)
	}))
	o.Cleanup(o.site.Close)
	o.sim.Close()
	o.sim = geminisim.New(geminisim.Config{Now: o.clock.Now, Audience: audience, HTTP: o.site.Client()})
	client, err := webhooks.NewClient(webhooks.Options{APIKey: "key", BaseURL: o.gemini.URL})
	if err != nil {
		o.Fatal(err)
	}
	made, err := client.Create(o.Context(), "opledger", o.site.URL+"/")
	if err != nil {
		o.Fatal(err)
	}
	o.secrets.Put(storedSecret, made.Secret, o.clock.Now())
	o.at = &sharedreconcile.Endpoint{Webhooks: client, URL: o.site.URL + "/"}
}

// deploy gives each function the settings of a deployment.
func (o *oncall) deploy() {
	o.Helper()
	var specs []map[string]any
	for _, s := range o.effects {
		var on []string
		for _, state := range s.On {
			on = append(on, string(state))
		}
		for _, alert := range s.Alerts {
			on = append(on, string(alert))
		}
		spec := map[string]any{"name": s.Name, "do": "log", "on": on}
		if s.Name != "note" {
			spec["do"], spec["url"] = "http", o.receiver.URL
		}
		if s.Each != "" {
			spec["each"] = s.Each
		}
		specs = append(specs, spec)
	}
	text, err := json.Marshal(specs)
	if err != nil {
		o.Fatal(err)
	}
	for _, function := range functions {
		o.settings[function] = map[string]string{
			"GOOGLE_CLOUD_PROJECT": shiftProject, "OPLEDGER_STORE": "sqlite:" + o.file, "OPLEDGER_TOPIC": "opledger-effects",
			"OPLEDGER_EFFECTS": string(text), "OPLEDGER_WEBHOOK_URL": o.site.URL + "/", "OPLEDGER_WEBHOOK_SECRET": storedSecret,
			"OPLEDGER_GEMINI_API_KEY_SECRET": storedKey, "GOOGLE_GEMINI_BASE_URL": o.gemini.URL, "LOG_EXECUTION_ID": "true",
		}
		o.revision[function] = []string{"opledger-" + function + "-00002-new", "opledger-" + function + "-00001-old"}
		o.active[function] = o.revision[function][0]
	}
}

// now is the time of the platform's log.
func (o *oncall) now() time.Time { return time.Now().Add(o.ahead) }

// granted reports whether a member has a role on a resource. The caller holds mu.
func (o *oncall) granted(resource, role, member string) bool {
	return slices.Contains(o.bindings[resource], role+" "+member)
}

// revoke takes a role from a member.
func (o *oncall) revoke(resource, role, member string) {
	o.bindings[resource] = slices.DeleteFunc(o.bindings[resource], func(b string) bool { return b == role+" "+member })
}
