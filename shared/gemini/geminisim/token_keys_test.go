package geminisim_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestRotateAndRevokeKeys(t *testing.T) {
	t.Parallel()
	sim := geminisim.New(geminisim.Config{Seed: 1})
	defer sim.Close()
	ids := func() (ids []string) {
		for _, k := range keys(t, sim).Keys {
			if !k.IsPublic() || !k.Valid() || k.Algorithm != "RS256" || k.Use != "sig" {
				t.Errorf("key %+v", k)
			}
			ids = append(ids, k.KeyID)
		}
		return ids
	}
	first := ids()[0]
	old := sim.Token(map[string]any{"n": 1.0}, geminisim.TokenOptions{})
	second := sim.RotateJWKS()
	if diff := cmp.Diff([]string{second, first}, ids()); diff != "" || first == second {
		t.Errorf("after a rotation %s", diff)
	}
	claims(t, sim, old)
	fresh := sim.Token(map[string]any{"n": 2.0}, geminisim.TokenOptions{})
	if c := claims(t, sim, fresh); c["n"] != 2.0 {
		t.Errorf("claims %v", c)
	}
	byFirst := sim.Token(nil, geminisim.TokenOptions{KeyID: first})
	if jws, err := jose.ParseSignedCompact(byFirst, []jose.SignatureAlgorithm{jose.RS256}); err != nil ||
		jws.Signatures[0].Header.KeyID != first {
		t.Errorf("token %s: %v", byFirst, err)
	}

	sim.RevokeJWKS(first)
	if diff := cmp.Diff([]string{second}, ids()); diff != "" {
		t.Error(diff)
	}
	jws, err := jose.ParseSignedCompact(old, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jws.Verify(keys(t, sim)); err == nil {
		t.Error("a revoked key still verifies")
	}
	sim.RevokeJWKS(second)
	if len(ids()) != 0 || sim.Token(nil, geminisim.TokenOptions{}) == "" {
		t.Error("the newest key does not sign once it is revoked")
	}
	for range 5 {
		sim.RotateJWKS() // more often than there are keys
	}
	if len(ids()) != 5 {
		t.Errorf("keys %v", ids())
	}
	for _, k := range keys(t, sim).Keys {
		if geminisim.OtherKey().PublicKey.Equal(k.Key) {
			t.Error("OtherKey is served")
		}
	}
}

func TestJWKSMisbehaves(t *testing.T) {
	t.Parallel()
	sim, _, srv := serve(t, geminisim.Config{})
	get := func(ctx context.Context) (int, []byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+geminisim.JWKSPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		return do(srv.Client(), req)
	}
	huge := make([]byte, 2<<20)
	sim.AnswerNext(geminisim.OpJWKS, "",
		geminisim.Answer{Status: 503, Times: 2},
		geminisim.Answer{Body: []byte("<html>")},
		geminisim.Answer{Body: huge},
		geminisim.Answer{Hang: true},
	)
	for range 2 {
		if status, _, err := get(t.Context()); status != 503 || err != nil {
			t.Errorf("%d %v", status, err)
		}
	}
	if _, body, err := get(t.Context()); string(body) != "<html>" || err != nil {
		t.Errorf("%s %v", body, err)
	}
	if _, body, err := get(t.Context()); len(body) != len(huge) || err != nil {
		t.Errorf("%d bytes %v", len(body), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hung := make(chan error, 1)
	go func() {
		_, _, err := get(ctx)
		hung <- err
	}()
	wait(t, sim, func(st geminisim.Stats) bool { return st.JWKSRequests == 5 && st.APIScripted == 5 })
	select {
	case err := <-hung:
		t.Errorf("it did not hang: %v", err)
	default:
	}
	cancel()
	if err := <-hung; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if status, body, err := get(t.Context()); status != 200 || !strings.Contains(string(body), `"kid"`) || err != nil {
		t.Errorf("afterwards: %d %s %v", status, body, err)
	}
	if st := sim.Stats(); st.JWKSRequests != 6 || st.APIRequests != 0 {
		t.Errorf("%+v", st)
	}
}
