package http_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	effecthttp "github.com/opledger/opledger/shared/effect/http"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// doHTTP returns the action of an http effect with these fields.
func doHTTP(t *testing.T, fields string) *effecthttp.Do {
	t.Helper()
	specs, err := kinds.ParseSpecs([]byte("[{name: publish, on: [SUCCEEDED], do: http, "+fields+"}]"),
		operation.Transitions{})
	if err != nil {
		t.Fatal(err)
	}
	return specs[0].Do.(*effecthttp.Do)
}

// TestHTTPSecrets: the URL, the token and the headers of a request are what their secrets hold. They
// are read once, and no error repeats one of them, whatever the receiver answers.
func TestHTTPSecrets(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	o := receive(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/hook/path-token" || r.URL.RawQuery != "key=query-token" ||
			r.Header.Get("Authorization") != "Bearer bearer-token" || r.Header.Get("X-Api-Key") != "header-token" ||
			r.Header.Get("Idempotency-Key") == "" {
			t.Errorf("received %s with %v", r.URL, r.Header)
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, "no ", r.URL, r.Header)
	})
	url := o.URL + "/path-token?key=query-token\n"
	o.URL = ""
	o.Secrets = doHTTP(t, `urlSecret: projects/p/secrets/url, tokenSecret: "env:TOKEN", headerSecrets: {x-api-key: `+
		`projects/p/secrets/key}`).Secrets
	read := 0
	o.Read = func(_ context.Context, from spec.Source) (string, error) {
		read++
		return map[string]string{
			"projects/p/secrets/url": url, "env:TOKEN": "bearer-token", "projects/p/secrets/key": " header-token ",
		}[from.String()], nil
	}
	handler := effecthttp.New(o)
	post := func() error {
		_, err := handler.Perform(t.Context(), effect.Task{Lease: ledger.Lease{IdempotencyKey: "k", Payload: []byte("{}")}})
		return err
	}
	if err := post(); err != nil {
		t.Error(err)
	}
	status = http.StatusUnauthorized
	err := post()
	if err == nil || effect.IsPermanent(err) || strings.Contains(err.Error(), "-token") ||
		!strings.Contains(err.Error(), "[path]") || !strings.Contains(err.Error(), "[Authorization]") {
		t.Errorf("%v", err)
	}
	if read != 3 {
		t.Errorf("%d secrets were read, want 3 once each", read)
	}
}

// TestHTTPSecretsMissing: a secret that cannot be read, or cannot be used, fails the attempt, which
// is retried. Nothing is sent, the error repeats nothing of it, and the secret is read again no more
// often than every 10 s.
func TestHTTPSecretsMissing(t *testing.T) {
	t.Parallel()
	errAway := errors.New("Secret Manager is away")
	for _, c := range []struct {
		fields, holds string
		err           error
		says          string
	}{
		{`urlSecret: projects/p/secrets/s`, "", errAway, "urlSecret: Secret Manager is away"},
		{`urlSecret: projects/p/secrets/s`, "hunter2://x", nil,
			"urlSecret: what projects/p/secrets/s holds is no http or https URL"},
		{`urlSecret: projects/p/secrets/s`, " ", nil, "must be one line of printable ASCII"},
		{`url: "http://x", tokenSecret: "env:A"`, "hunter2\nX-Injected: 1", nil,
			"tokenSecret: what env:A holds must be one line of printable ASCII"},
		{`url: "http://x", headerSecrets: {X-Key: "env:A"}`, "hunter2\x00", nil, "headerSecrets: X-Key: what env:A holds"},
	} {
		received, now, read := 0, noon, 0
		o := receive(t, func(http.ResponseWriter, *http.Request) { received++ })
		do, holds, err := doHTTP(t, c.fields), c.holds, c.err
		if do.URL == "" {
			o.URL = ""
		}
		url := o.URL
		if url == "" {
			url = receive(t, func(http.ResponseWriter, *http.Request) { received++ }).URL
		}
		o.Secrets, o.Now = do.Secrets, func() time.Time { return now }
		o.Read = func(context.Context, spec.Source) (string, error) { read++; return holds, err }
		handler := effecthttp.New(o)
		for range 2 {
			_, got := handler.Perform(t.Context(), effect.Task{Lease: ledger.Lease{Payload: []byte("{}")}})
			if got == nil || effect.IsPermanent(got) || !strings.Contains(got.Error(), c.says) ||
				strings.Contains(got.Error(), "hunter2") || c.err != nil && !errors.Is(got, c.err) {
				t.Errorf("%s: %v, want %s", c.fields, got, c.says)
			}
		}
		now, holds, err = now.Add(10*time.Second), url, nil
		if _, err := handler.Perform(t.Context(), effect.Task{Lease: ledger.Lease{Payload: []byte("{}")}}); err != nil ||
			received != 1 || read != 2 {
			t.Errorf("%s: %v, %d received, %d times read", c.fields, err, received, read)
		}
	}
}

// TestSecretsOfSpecs: each secret that an effect names is listed once.
func TestSecretsOfSpecs(t *testing.T) {
	t.Parallel()
	var got []string
	for _, from := range doHTTP(t, `url: "https://x", tokenSecret: projects/p/secrets/b, headerSecrets: `+
		`{X-A: projects/p/secrets/a, X-B: projects/p/secrets/b, X-C: "env:C"}`).Sources() {
		got = append(got, from.String())
	}
	if want := []string{"env:C", "projects/p/secrets/a", "projects/p/secrets/b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if other := (&log.Do{}).Sources(); other != nil {
		t.Errorf("%v", other)
	}
}
