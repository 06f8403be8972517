package geminisim_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

const own = "https://own.example/callback"

// submitOwn makes a batch with a webhook of its own, through no network.
func submitOwn(t *testing.T, sim *geminisim.Sim, displayName string) {
	t.Helper()
	w := call(
		t,
		sim,
		"POST",
		"/v1beta/models/m:batchGenerateContent",
		`{"batch":{"displayName":"`+displayName+`","inputConfig":{"fileName":"files/x"},
		"webhookConfig":{"uris":["`+own+`"],"userMetadata":{"correlation":"c-1"}}}}`,
	)
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
}

// keys asks for the key set as a receiver does, without an API key.
func keys(t *testing.T, sim *geminisim.Sim) jose.JSONWebKeySet {
	t.Helper()
	w := httptest.NewRecorder()
	sim.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, geminisim.JWKSPath, nil))
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(w.Body.Bytes(), &set); err != nil || w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body, err)
	}
	return set
}

// claims verifies a token as a receiver does and returns what it claims.
func claims(t *testing.T, sim *geminisim.Sim, token string) map[string]any {
	t.Helper()
	jws, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatalf("token %s: %v", token, err)
	}
	payload, err := jws.Verify(keys(t, sim))
	if err != nil {
		t.Fatalf("token %s: %v", token, err)
	}
	var c map[string]any
	if err := json.Unmarshal(payload, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOwnURIsAreDeliveredToWithAToken(t *testing.T) {
	bubble(
		t,
		geminisim.Config{},
		func(n int, _ got) (int, error) { return []int{503, 200}[n], nil },
		func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
			submitOwn(t, sim, "")
			waitWithin(t, week, sim, over(1))
			all := rc.all()
			if len(all) != 2 || sim.Batches()[0].Completion != geminisim.CompletionAccepted {
				t.Fatalf("delivered %+v, %+v", all, sim.Batches())
			}
			for i, d := range all {
				if d.URL != own || d.Event.Type != "batch.succeeded" ||
					d.Header.Get("webhook-id") != all[0].Header.Get("webhook-id") {
					t.Errorf("attempt %d to %s: %v %s", i, d.URL, d.Header, d.Body)
				}
				at := float64(d.At.Unix())
				want := map[string]any{"aud": own, "iss": "https://accounts.google.com", "iat": at, "exp": at + 3600}
				if diff := cmp.Diff(want, claims(t, sim, d.Header.Get("webhook-signature"))); diff != "" {
					t.Error(diff)
				}
			}
		},
	)
}

func TestNoSubscriptionForOwnURIsButFaults(t *testing.T) {
	bubble(t, geminisim.Config{}, nil, func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
		sim.Script("lost", geminisim.Script{Faults: &geminisim.Faults{Lost: 1}})
		sim.Script("cancelled", geminisim.Script{Final: geminisim.StateCancelled})
		sim.Script("overtaken", geminisim.Script{Faults: &geminisim.Faults{Reordered: 1, Repeated: 1}})
		for _, name := range []string{"lost", "cancelled", "overtaken"} {
			submitOwn(t, sim, name)
		}
		waitWithin(t, week, sim, over(3))
		b := sim.Batches()
		if b[0].Completion != geminisim.CompletionLost || b[1].Completion != geminisim.CompletionNone ||
			b[2].Completion != geminisim.CompletionAccepted {
			t.Errorf("%+v", b)
		}
		types := map[string]int{}
		for _, d := range rc.all() {
			types[d.Event.Type]++
		}
		if types["batch.running"] != 1 || types["batch.succeeded"] < 2 || len(types) != 2 {
			t.Errorf("delivered %v", types)
		}
	})
}

func TestClaimsAreConfigured(t *testing.T) {
	hash := func(body []byte) string { sum := sha256.Sum256(body); return hex.EncodeToString(sum[:]) }
	cfg := geminisim.Config{
		Audience: "project", Issuer: "gemini", MetadataIn: geminisim.MetadataInClaims,
		Claims: func(body []byte) map[string]any { return map[string]any{"body_sha256": hash(body), "exp": nil} },
	}
	bubble(t, cfg, nil, func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
		submitOwn(t, sim, "")
		waitWithin(t, week, sim, over(1))
		d := rc.all()[0]
		want := map[string]any{
			"aud": "project", "iss": "gemini", "iat": float64(d.At.Unix()),
			"body_sha256": hash([]byte(d.Body)), "user_metadata": map[string]any{"correlation": "c-1"},
		}
		if diff := cmp.Diff(want, claims(t, sim, d.Header.Get("webhook-signature"))); diff != "" {
			t.Error(diff)
		}
		if strings.Contains(d.Body, "user_metadata") {
			t.Errorf("metadata in the body too: %s", d.Body)
		}
	})
}

func TestAnyToken(t *testing.T) {
	t.Parallel()
	sim := geminisim.New(geminisim.Config{})
	defer sim.Close()
	for name, c := range map[string]struct {
		o        geminisim.TokenOptions
		header   string
		verifies bool
	}{
		"usual":       {geminisim.TokenOptions{}, `"alg":"RS256"`, true},
		"unknown key": {geminisim.TokenOptions{KeyID: "nosuch"}, `"kid":"nosuch"`, false},
		"no key id":   {geminisim.TokenOptions{KeyID: "-"}, `"typ":"JWT"`, false},
		"forged":      {geminisim.TokenOptions{Key: geminisim.OtherKey()}, `"alg":"RS256"`, false},
		"other alg":   {geminisim.TokenOptions{Alg: jose.PS256}, `"alg":"PS256"`, true},
		"HMAC":        {geminisim.TokenOptions{Alg: jose.HS256, Key: make([]byte, 32)}, `"alg":"HS256"`, false},
		"not signed":  {geminisim.TokenOptions{Alg: "none"}, `"alg":"none"`, false},
	} {
		token := sim.Token(map[string]any{"a": "b"}, c.o)
		parts := strings.Split(token, ".")
		if len(parts) != 3 {
			t.Fatalf("%s: %s", name, token)
		}
		if header := unbase64(t, parts[0]); !strings.Contains(header, c.header) ||
			strings.Contains(header, "kid") == (c.o.KeyID == "-") {
			t.Errorf("%s: header %s", name, header)
		}
		if payload := unbase64(t, parts[1]); payload != `{"a":"b"}` {
			t.Errorf("%s: claims %s", name, payload)
		}
		jws, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.HS256})
		if err == nil {
			_, err = jws.Verify(keys(t, sim)) // finds the key by its id
		}
		if (err == nil) != c.verifies {
			t.Errorf("%s: verified: %v", name, err)
		}
	}
}

func TestDeliverWithATokenForAnotherBody(t *testing.T) {
	bubble(t, geminisim.Config{}, nil, func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
		send := func(d geminisim.Delivery) got {
			t.Helper()
			if _, _, err := sim.Deliver(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			all := rc.all()
			return all[len(all)-1]
		}
		d := send(geminisim.Delivery{URL: own, Dynamic: true, Type: "interaction.completed", Name: "v1_x"})
		captured := d.Header.Get("webhook-signature")
		if c := claims(t, sim, captured); c["aud"] != own {
			t.Errorf("claims %v", c)
		}
		d = send(geminisim.Delivery{URL: own, JWT: captured, Body: []byte(`{"type":"batch.succeeded"}`)})
		if d.Header.Get("webhook-signature") != captured || d.Event.Type != "batch.succeeded" ||
			d.Header.Get("webhook-id") == "" {
			t.Errorf("delivery %+v", d)
		}
		forged := sim.Claims(own, nil)
		forged["exp"] = 1
		d = send(geminisim.Delivery{URL: own, JWT: sim.Token(forged, geminisim.TokenOptions{}), Type: "x"})
		if c := claims(t, sim, d.Header.Get("webhook-signature")); c["exp"] != 1.0 {
			t.Errorf("claims %v", c)
		}
	})
}

func TestDynamicThroughSDK(t *testing.T) {
	t.Parallel()
	rc := &receiver{}
	sim, client, _ := serve(t, geminisim.Config{Speed: 1e6, HTTP: rc.client()})
	_, err := client.Batches.Create(
		t.Context(),
		"m",
		&genai.BatchJobSource{FileName: "files/x"},
		&genai.CreateBatchJobConfig{
			WebhookConfig: &genai.WebhookConfig{Uris: []string{own, own + "/2"}, UserMetadata: map[string]any{"k": "v"}},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, sim, over(1))
	urls := map[string]bool{}
	for _, d := range rc.all() {
		urls[d.URL] = true
		if aud := claims(t, sim, d.Header.Get("webhook-signature"))["aud"]; aud != d.URL {
			t.Errorf("a delivery to %s for %v", d.URL, aud)
		}
	}
	if diff := cmp.Diff(map[string]bool{own: true, own + "/2": true}, urls); diff != "" {
		t.Error(diff)
	}
}

func TestCloseEndsWhatHangs(t *testing.T) {
	t.Parallel()
	sim, _, srv := serve(t, geminisim.Config{})
	sim.AnswerNext(geminisim.OpJWKS, "", geminisim.Answer{Hang: true})
	hung := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	go func() {
		// No GET that the client quietly repeats.
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+geminisim.JWKSPath, nil)
		if err == nil {
			_, _, err = do(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, req)
		}
		hung <- err
	}()
	wait(t, sim, func(st geminisim.Stats) bool { return st.APIScripted == 1 })
	sim.Close()
	if err := <-hung; err == nil || ctx.Err() != nil {
		t.Errorf("error %v, %v", err, ctx.Err())
	}
}
