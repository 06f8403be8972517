package frontdoor_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	effectlog "github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/ledger/topic"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/frontdoor"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// planned is infra/tests/callers.json, which a test of Terraform compares with its plan.
type planned struct {
	Endpoint, Account, Audience string
	URL                         string // of the service that is called
	Invokers                    []string
	Signers                     []string // who may make tokens of Account
}

func readPlanned(t *testing.T, caller string) planned {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "infra", "tests", "callers.json"))
	all := map[string]planned{}
	if err = errors.Join(err, json.Unmarshal(text, &all)); err != nil || all[caller].Endpoint == "" {
		t.Fatalf("infra/tests/callers.json: %v, %+v", err, all)
	}
	return all[caller]
}

// caller is the planned caller, on a cloud with the service that it calls.
func (p planned) caller(t *testing.T, function http.Handler) frontdoor.Caller {
	t.Helper()
	cloud, err := frontdoor.New(time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Deploy(frontdoor.Service{URL: p.URL, Invokers: p.Invokers, Function: function}); err != nil {
		t.Fatal(err)
	}
	return frontdoor.Caller{
		Cloud: cloud, Endpoint: p.Endpoint, Account: p.Account, Audience: p.Audience, MaySign: len(p.Signers) > 0,
	}
}

// TestPlannedPushesReachEffects: a message that the ledger published passes a real subscription and
// the front door to Effects, with the account, the audience and the invoker that Terraform plans,
// and its effect is done [G1].
func TestPlannedPushesReachEffects(t *testing.T) {
	t.Parallel()
	addr, project := harness.PubSub(t), harness.ProjectID(t)
	admin, err := pubsub.NewClient(t.Context(), project, dial.Options(addr)...)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	const name = "effects"
	full := "projects/" + project + "/topics/" + name
	if _, err := admin.TopicAdminClient.CreateTopic(t.Context(), &pubsubpb.Topic{Name: full}); err != nil {
		t.Fatal(err)
	}
	published, err := topic.Open(t.Context(), project, name, dial.Options(addr)...)
	if err != nil {
		t.Fatal(err)
	}
	defer published.Close()

	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "note", On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{Publisher: published})
	if err != nil {
		t.Fatal(err)
	}
	log := &harness.Log{}
	handlers, err := kinds.Handlers([]spec.Spec{{Name: "note", Do: &effectlog.Do{}}},
		kinds.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	function := effects.New(effects.Options{Runner: effect.NewRunner(l, handlers), Now: time.Now,
		Log: logging.New(log, project)})

	plan := readPlanned(t, "push")
	done := make(chan int, 100)
	caller := plan.caller(t, function)
	pushed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		caller.ServeHTTP(answer, r)
		w.WriteHeader(answer.Code)
		done <- answer.Code
	}))
	defer pushed.Close()
	endpoint, err := url.Parse(plan.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	subscription := "projects/" + project + "/subscriptions/push"
	if _, err := admin.SubscriptionAdminClient.CreateSubscription(t.Context(), &pubsubpb.Subscription{
		Name: subscription, Topic: full, AckDeadlineSeconds: 60,
		PushConfig: &pubsubpb.PushConfig{
			PushEndpoint: pushed.URL + endpoint.Path,
			AuthenticationMethod: &pubsubpb.PushConfig_OidcToken_{OidcToken: &pubsubpb.PushConfig_OidcToken{
				ServiceAccountEmail: plan.Account, Audience: plan.Audience,
			}},
		},
		RetryPolicy: &pubsubpb.RetryPolicy{
			MinimumBackoff: durationpb.New(time.Second), MaximumBackoff: durationpb.New(2 * time.Second),
		},
	}); err != nil {
		t.Fatal(err)
	}
	defer func() { // the emulator would push to its closed endpoint for ever
		if err := admin.SubscriptionAdminClient.DeleteSubscription(t.Context(),
			&pubsubpb.DeleteSubscriptionRequest{Subscription: subscription}); err != nil {
			t.Error(err)
		}
	}()

	key := operation.Name{Key: "batches/a", Resource: "batches/a"}
	if _, err := l.Operations.Register(t.Context(), ledger.Registration{Name: key}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Operations.Ingest(t.Context(), operation.Event{
		Name: key, DeliveryID: "end", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
	}); err != nil {
		t.Fatal(err)
	}
	if status := <-done; status != http.StatusOK {
		t.Errorf("the push was answered %d", status)
	}
	if lines := log.Drain(t); len(lines) != 1 || lines[0]["outcome"] != "finished" {
		t.Errorf("Effects printed %v", lines)
	}
}

// TestWhatTheFrontDoorRefuses: if any link of the planned chain is missing, no request reaches the
// function, and the status shows which link it is.
func TestWhatTheFrontDoorRefuses(t *testing.T) {
	t.Parallel()
	const stranger = "stranger@a-project.iam.gserviceaccount.com"
	for _, name := range []string{"push", "schedule"} {
		plan := readPlanned(t, name)
		if name == "schedule" {
			plan.Signers = []string{"Cloud Scheduler's own agent"}
		}
		for _, c := range []struct {
			about  string
			cut    func(*planned)
			status int
		}{
			{"nothing is cut", func(*planned) {}, http.StatusOK},
			{"no account may invoke it", func(p *planned) { p.Invokers = nil }, http.StatusForbidden},
			{"another account may", func(p *planned) {
				p.Invokers = []string{"serviceAccount:" + stranger}
			}, http.StatusForbidden},
			{"it calls as another account", func(p *planned) { p.Account = stranger }, http.StatusForbidden},
			{"its token is for another service", func(p *planned) {
				p.Audience = "https://register.example"
			}, http.StatusUnauthorized},
			{"its token is for a path of the service", func(p *planned) { p.Audience += "/" }, http.StatusUnauthorized},
			{"the service has another address", func(p *planned) {
				p.Endpoint = strings.Replace(p.Endpoint, "https://", "https://old-", 1)
			}, http.StatusNotFound},
			{"its agent may not sign", func(p *planned) { p.Signers = nil }, 0},
		} {
			cut, reached := plan, false
			c.cut(&cut)
			caller := cut.caller(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
			status, err := caller.Call(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody),
				http.NoBody)
			if err != nil || status != c.status || reached != (c.status == http.StatusOK) {
				t.Errorf("%s, %s: status %d, want %d; reached %v, %v", name, c.about, status, c.status, reached, err)
			}
		}
	}
}

// TestTokens: a token with a wrong signature, or an expired one, is refused; without a token only
// public services answer.
func TestTokens(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	cloud, err := frontdoor.New(clock)
	if err != nil {
		t.Fatal(err)
	}
	other, err := frontdoor.New(clock)
	if err != nil {
		t.Fatal(err)
	}
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, s := range []frontdoor.Service{
		{URL: "https://private.example", Invokers: []string{"serviceAccount:a"}, Function: answers},
		{URL: "https://public.example", Invokers: []string{frontdoor.AllUsers}, Function: answers},
	} {
		if err := cloud.Deploy(s); err != nil {
			t.Fatal(err)
		}
	}
	token := func(c *frontdoor.Cloud) string {
		text, err := c.Token("a", "https://private.example")
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + text
	}
	good, forged := token(cloud), token(other)
	ask := func(host, authorization string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+host+"/", http.NoBody)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		w := httptest.NewRecorder()
		cloud.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		host, authorization string
		want                int
	}{
		{"private.example", good, http.StatusNoContent}, {"private.example", forged, http.StatusUnauthorized},
		{"private.example", "", http.StatusForbidden}, {"private.example", "Bearer x", http.StatusUnauthorized},
		{"public.example", "", http.StatusNoContent}, {"public.example", "Bearer x", http.StatusNoContent},
		{"nowhere.example", good, http.StatusNotFound},
	} {
		if got := ask(c.host, c.authorization); got != c.want {
			t.Errorf("%s %.10s: %d, want %d", c.host, c.authorization, got, c.want)
		}
	}
	now = now.Add(2 * time.Hour)
	if got := ask("private.example", good); got != http.StatusUnauthorized {
		t.Errorf("two hours later: %d", got)
	}
	if err := cloud.Deploy(frontdoor.Service{URL: "private"}); err == nil {
		t.Error("a service without an address was deployed")
	}
}
