package cloud_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/custom"
	effecthttp "github.com/opledger/opledger/shared/effect/http"
	"github.com/opledger/opledger/shared/effect/kinds"
	effectlog "github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

const (
	older = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newer = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

// TestHandlersSign: an http effect's request is signed with each secret of the settings, or of the
// last version of the secret that they name. The official library verifies it.
func TestHandlersSign(t *testing.T) {
	t.Parallel()
	const full = "projects/p/secrets/effects"
	sim, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	sim.Put(full, older, at)
	sim.Put(full, newer+"\n"+older+"\n", at.Add(time.Hour))
	for _, c := range []struct {
		secret string
		fits   []string
	}{
		{"", nil}, {older, []string{older}}, {" " + newer + "\n" + older, []string{older, newer}},
		{full, []string{older, newer}},
	} {
		var fits []string
		receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			for _, secret := range []string{older, newer} {
				if wh, err := standardwebhooks.NewWebhook(secret); err == nil && wh.Verify(body, r.Header) == nil {
					fits = append(fits, secret)
				}
			}
		}))
		settings := config.Handlers{Secret: effectSecret(t, c.secret), SecretEmulator: sim.Addr(), AllowPrivate: true}
		specs := []spec.Spec{{Name: "publish", Do: &effecthttp.Do{URL: receiver.URL}}}
		handlers, err := cloud.Handlers(t.Context(), specs, settings, kinds.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := handlers["publish"].Perform(t.Context(),
			effect.Task{Lease: ledger.Lease{IdempotencyKey: "k", Payload: []byte("{}")}}); err != nil {
			t.Error(err)
		}
		receiver.Close()
		if fmt.Sprint(fits) != fmt.Sprint(c.fits) {
			t.Errorf("%q: the signatures fit %v, want %v", c.secret, fits, c.fits)
		}
	}
}

// effectSecret decodes the setting.
func effectSecret(t *testing.T, text string) (secret config.EffectSecret) {
	t.Helper()
	if text == "" {
		return secret
	}
	if err := secret.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return secret
}

// TestEffectSignerRefuses: a secret that does not exist or is malformed is an error that names it
// and does not repeat its value. Nothing is sent unsigned instead.
func TestEffectSignerRefuses(t *testing.T) {
	t.Parallel()
	const full = "projects/p/secrets/effects"
	sim, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	refused := func(is error) {
		t.Helper()
		signer, err := cloud.EffectSigner(t.Context(), config.Handlers{Secret: effectSecret(t, full),
			SecretEmulator: sim.Addr()})
		if signer != nil || err == nil || is != nil && !errors.Is(err, is) ||
			!strings.HasPrefix(err.Error(), "OPLEDGER_EFFECT_SECRET: ") ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v, %v, want %v", signer, err, is)
		}
	}
	refused(secret.ErrNotFound)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i, data := range []string{"hunter2", "whsec_", " \n"} {
		sim.Put(full, data, at.Add(time.Duration(i)*time.Hour))
		refused(nil)
	}
	sim.Deny("secretmanager.versions.access")
	refused(secret.ErrDenied)
	if _, err := cloud.Handlers(t.Context(), []spec.Spec{{Name: "own", Do: &custom.Do{}}}, config.Handlers{},
		kinds.Options{}); err == nil ||
		!strings.HasPrefix(err.Error(), `OPLEDGER_EFFECTS: effect "own"`) {
		t.Errorf("%v", err)
	}
}

// TestUnperformable: each effect that cannot be performed is named, with the variable that is to be
// set or the secret that is not there; a secret that comes later is found.
func TestUnperformable(t *testing.T) {
	t.Parallel()
	const full = "projects/p/secrets/effects"
	sim, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	specs := []spec.Spec{
		{Name: "publish", Do: &effecthttp.Do{URL: "https://8.8.8.8/"}},
		{Name: "inside", Do: &effecthttp.Do{URL: "http://10.0.0.1/"}},
		{Name: "note", Do: &effectlog.Do{}},
	}
	settings := config.Handlers{Secret: effectSecret(t, full), SecretEmulator: sim.Addr()}
	o := kinds.Options{Signer: cloud.LateEffectSigner(settings), Now: func() time.Time { return now }}
	if handlers, err := cloud.Handlers(t.Context(), specs, settings, o); err != nil || len(handlers) != 3 {
		t.Fatalf("%v, %v", handlers, err)
	}
	why := cloud.Unperformable(t.Context(), specs, settings, o)
	if len(why) != 2 || !errors.Is(why["publish"], secret.ErrNotFound) || !errors.Is(why["inside"], secret.ErrNotFound) ||
		!strings.Contains(why["publish"].Error(), "OPLEDGER_EFFECT_SECRET: ") ||
		!strings.Contains(why["inside"].Error(), "OPLEDGER_EFFECT_ALLOW_PRIVATE") {
		t.Errorf("%v", why)
	}
	sim.Put(full, older, now)
	now = now.Add(time.Minute)
	settings.AllowPrivate = true
	if why := cloud.Unperformable(t.Context(), specs, settings, o); len(why) != 0 {
		t.Errorf("%v", why)
	}
	if cloud.LateEffectSigner(config.Handlers{}) != nil {
		t.Error("something is signed without a secret")
	}
}

// TestBuckets: objects are written to the Cloud Storage that the settings name.
func TestBuckets(t *testing.T) {
	t.Parallel()
	sim := storagesim.Start(storagesim.Config{Buckets: []string{"my-results"}})
	defer sim.Close()
	gemini := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"key":"a","response":1}`) // what does not arrive is missed below
	}))
	defer gemini.Close()
	settings, err := config.Parse[struct {
		Ledger   config.Ledger
		Handlers config.Handlers
		Results  config.Results
	}]([]string{
		`OPLEDGER_EFFECTS=[{name: keep, on: [SUCCEEDED], do: results, bucket: "gs://my-results"}]`,
		"STORAGE_EMULATOR_HOST=" + sim.Addr(), "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=" + gemini.URL,
	})
	if err != nil {
		t.Fatal(err)
	}
	fetched, err := cloud.Results(t.Context(), settings.Results, nil)
	if err != nil {
		t.Fatal(err)
	}
	handlers, err := cloud.Handlers(t.Context(), settings.Ledger.Effects, settings.Handlers, kinds.Options{
		Results: fetched, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handlers["keep"].Perform(t.Context(), effect.Task{Lease: ledger.Lease{
		Operation: "batches/abc", Effect: "keep", IdempotencyKey: "k",
		Payload: []byte(`{"operation":"batches/abc","result":{"outputFile":"files/x"}}`),
	}}); err != nil {
		t.Error(err)
	}
	if object := sim.Object("my-results",
		"batches/abc/keep.jsonl"); string(object.Content) != `{"key":"a","index":0,"response":1}`+"\n" {
		t.Errorf("%v %s", sim.Names(), object.Content)
	}
}

// TestHandlersReadVariables: a secret of an effect may be a variable of the process. One that is not
// set fails the attempt by its name.
func TestHandlersReadVariables(t *testing.T) {
	t.Parallel()
	var received []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		received = append(received, r.Header.Get("X-Path"))
	}))
	defer receiver.Close()
	for variable, want := range map[string]string{
		"PATH": "", "OF_NO_TEST": "headerSecrets: X-Path: the variable OF_NO_TEST is not set; " +
			"set it for this process",
	} {
		specs, err := kinds.ParseSpecs([]byte(`[{name: a, on: [SUCCEEDED], do: http, url: "`+receiver.URL+
			`", headerSecrets: {X-Path: "env:`+variable+`"}}]`), operation.Transitions{})
		if err != nil {
			t.Fatal(err)
		}
		handlers, err := cloud.Handlers(t.Context(), specs, config.Handlers{AllowPrivate: true},
			kinds.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		_, err = handlers["a"].Perform(t.Context(), effect.Task{Lease: ledger.Lease{Payload: []byte("{}")}})
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", variable, err, want)
		}
	}
	if !slices.Equal(received, []string{strings.TrimSpace(os.Getenv("PATH"))}) {
		t.Errorf("received %q", received)
	}
}
