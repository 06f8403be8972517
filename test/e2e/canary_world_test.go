package e2e

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/opledger/opledger/scripts/opledger/canary/googlesim"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/topic"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/test/frontdoor"
	"github.com/opledger/opledger/test/harness"
)

// A deployment is Webhook, Reconcile and Effects behind the front door, over the emulators, with the
// platform's logs and its scheduler, as `opledger canary` meets them.
type deployment struct {
	*testing.T
	project   string
	variables []string // of the canary's process

	cloud   *frontdoor.Cloud
	google  *googlesim.Sim
	secrets *secretsim.Sim
	gemini  *geminisim.Sim
	api     *httptest.Server // in front of it
	store   *firestore.Store
	ledger  *ledger.Ledger
	admin   *pubsub.Client
	log     *harness.Log // what the functions print, beside google's

	pusher, webhook, register *httptest.Server
	push                      atomic.Pointer[frontdoor.Caller] // which Pub/Sub reads whenever it pushes
	schedule                  *frontdoor.Caller
	services                  map[string]frontdoor.Service // by name
}

const (
	canarySecret  = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	canaryRegion  = "europe-west1"
	pushAccount   = "opledger-push@p.iam.gserviceaccount.com"
	scheduleAgent = "opledger-scheduler@p.iam.gserviceaccount.com"
	submitter     = "nightly@p.iam.gserviceaccount.com"
)

// newDeployment deploys everything.
func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{T: t, project: harness.ProjectID(t), log: &harness.Log{}, services: map[string]frontdoor.Service{}}
	firestoreAddr, pubsubAddr := harness.Firestore(t), harness.PubSub(t)
	d.google = googlesim.New(d.project, time.Now)
	google := d.serve(d.google)
	t.Cleanup(d.google.Wait)
	d.openLedger(firestoreAddr, pubsubAddr)
	d.openSecrets()
	d.deploy()
	d.subscribe(pubsubAddr)
	d.variables = []string{
		"GOOGLE_CLOUD_PROJECT=" + d.project, "OPLEDGER_STORE=firestore", "OPLEDGER_TOPIC=opledger-effects",
		"OPLEDGER_WEBHOOK_URL=" + d.webhook.URL, "OPLEDGER_WEBHOOK_SECRET=" + d.secretName(),
		"OPLEDGER_EFFECTS=[{name: note, on: [SUCCEEDED], do: log}]",
		"FIRESTORE_EMULATOR_HOST=" + firestoreAddr, "PUBSUB_EMULATOR_HOST=" + pubsubAddr,
		"SECRET_MANAGER_EMULATOR_HOST=" + d.secrets.Addr(),
		"LOGGING_EMULATOR_HOST=" + google.URL, "SCHEDULER_EMULATOR_HOST=" + google.URL,
		"OPLEDGER_GRACE=1s", "OPLEDGER_INTERVAL=1s", "GEMINI_API_KEY=key", "GOOGLE_GEMINI_BASE_URL=" + d.api.URL,
		"SSL_CERT_FILE=" + d.certificate(), "HOME=" + t.TempDir(), raceOptions,
	}
	d.submitsTo(d.register.URL)
	return d
}

// serve starts a server that the test ends.
func (d *deployment) serve(handler http.Handler) *httptest.Server {
	server := httptest.NewServer(handler)
	d.Cleanup(server.Close)
	return server
}

func (d *deployment) secretName() string {
	return "projects/" + d.project + "/secrets/opledger-webhook-secret"
}

// must ends the test on an error.
func (d *deployment) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *deployment) openLedger(firestoreAddr, pubsubAddr string) {
	d.Helper()
	var err error
	d.admin, err = pubsub.NewClient(d.Context(), d.project, dial.Options(pubsubAddr)...)
	d.must(err)
	d.Cleanup(func() { _ = d.admin.Close() })
	_, err = d.admin.TopicAdminClient.CreateTopic(d.Context(), &pubsubpb.Topic{Name: d.full("topics")})
	d.must(err)
	d.store, err = firestore.Open(d.Context(), d.project, "", dial.Options(firestoreAddr)...)
	d.must(err)
	d.Cleanup(func() { _ = d.store.Close() })
	published, err := topic.Open(d.Context(), d.project, "opledger-effects", dial.Options(pubsubAddr)...)
	d.must(err)
	d.Cleanup(func() { _ = published.Close() })
	settings := ledger.DefaultSettings()
	settings.Grace, settings.Interval = time.Second, time.Second
	settings.Rules = []ledger.Rule{{Name: "note", On: []operation.State{operation.Succeeded}}}
	d.ledger, err = ledger.New(d.store, settings, ledger.Options{Publisher: published})
	d.must(err)
}

func (d *deployment) full(collection string) string {
	return "projects/" + d.project + "/" + collection + "/opledger-effects"
}

func (d *deployment) openSecrets() {
	d.Helper()
	var err error
	d.secrets, err = secretsim.Start(secretsim.Config{})
	d.must(err)
	d.Cleanup(d.secrets.Close)
	d.secrets.Put(d.secretName(), canarySecret, time.Now())
}

// openGemini starts Gemini, which knows the webhook's certificate. A batch ends soon there, but time
// does not pass faster: an attempt has its 10 s, which a loaded machine may need.
func (d *deployment) openGemini() {
	d.Helper()
	d.gemini = geminisim.New(geminisim.Config{
		RunTime: [2]time.Duration{100 * time.Millisecond, 100 * time.Millisecond}, HTTP: d.webhook.Client(),
	})
	d.Cleanup(d.gemini.Close)
	d.api = d.serve(d.gemini)
}

// registerWebhook creates the webhook at Gemini, and stores its secret. It returns its id.
func (d *deployment) registerWebhook() string {
	d.Helper()
	client, err := webhooks.NewClient(webhooks.Options{APIKey: "key", BaseURL: d.api.URL})
	d.must(err)
	made, err := client.Create(d.Context(), "opledger", d.webhook.URL)
	d.must(err)
	d.secrets.Put(d.secretName(), made.Secret, time.Now())
	return made.ID
}

// printer is the log of a function: of the platform, and of the test.
func (d *deployment) printer(service string) *slog.Logger {
	return logging.New(printed{d.google.Output(service), d.log}, d.project)
}

type printed struct {
	platform googlesim.Output
	test     *harness.Log
}

func (p printed) Write(text []byte) (int, error) {
	if _, err := p.test.Write(text); err != nil {
		return 0, err
	}
	return p.platform.Write(text)
}

// deploy deploys the functions, and who calls them.
func (d *deployment) deploy() {
	d.Helper()
	var err error
	d.cloud, err = frontdoor.New(time.Now)
	d.must(err)
	d.cloud.Log = func(s frontdoor.Service, r *http.Request, status int) {
		d.google.Log(googlesim.Request{Service: s.Name, UserAgent: r.UserAgent(), Status: status})
	}
	d.webhook = httptest.NewTLSServer(d.cloud)
	d.Cleanup(d.webhook.Close)
	d.pusher = d.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.push.Load().ServeHTTP(w, r) }))
	d.register = d.serve(d.cloud)
	d.openGemini()
	const reconcileURL = "https://reconcile.example"
	d.add("opledger-webhook", d.webhook.URL, frontdoor.AllUsers, d.webhookFunction())
	d.add("opledger-effects", d.pusher.URL, "serviceAccount:"+pushAccount, d.effectsFunction())
	d.add("opledger-register", d.register.URL, "serviceAccount:"+submitter, d.registerFunction())
	d.add("opledger-reconcile", reconcileURL, "serviceAccount:"+scheduleAgent, d.reconcileFunction())
	d.push.Store(&frontdoor.Caller{
		Cloud: d.cloud, Endpoint: d.pusher.URL + "/projects/p/topics/opledger-effects", Account: pushAccount,
		Audience: d.pusher.URL, UserAgent: "CloudPubSub-Google", MaySign: true,
	})
	d.schedule = &frontdoor.Caller{
		Cloud: d.cloud, Endpoint: reconcileURL + "/", Account: scheduleAgent, Audience: reconcileURL,
		UserAgent: "Google-Cloud-Scheduler", MaySign: true,
	}
	d.setJob(false)
}

// submitsTo gives the canary a submitter's token for an audience.
func (d *deployment) submitsTo(audience string) {
	d.Helper()
	token, err := d.cloud.Token(submitter, audience)
	d.must(err)
	d.variables = append(d.variables, "OPLEDGER_URL="+d.register.URL, "OPLEDGER_TOKEN="+token)
}

// setJob makes the scheduler's job.
func (d *deployment) setJob(paused bool) {
	d.google.SetJob(canaryRegion, "opledger-reconcile", googlesim.Job{
		Account: d.schedule.Account, Audience: d.schedule.Audience, Paused: paused,
		Call: func(ctx context.Context) int {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.schedule.Endpoint, http.NoBody)
			if err != nil {
				d.Error(err)
				return 0
			}
			status, err := d.schedule.Call(r, http.NoBody)
			if err != nil {
				d.Error(err)
			}
			return status
		},
	})
}

// add deploys a service, or deploys it again.
func (d *deployment) add(name, url, invoker string, function http.Handler) {
	d.Helper()
	d.services[name] = frontdoor.Service{Name: name, URL: url, Invokers: []string{invoker}, Function: function}
	d.must(d.cloud.Deploy(d.services[name]))
}

// uninvoke takes the right to invoke a service away.
func (d *deployment) uninvoke(name string) {
	d.Helper()
	s := d.services[name]
	s.Invokers = nil
	d.must(d.cloud.Deploy(s))
}
