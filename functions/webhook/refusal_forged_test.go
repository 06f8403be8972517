package webhook_test

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/test/harness"
)

// TestForgers: a thousand forged requests at once (a quarter of them outside of the gate), static ones and tokens with
// key ids of their own, cost at most one listing of the secret's versions and one fetch of the keys per gap. They
// write nothing, and genuine deliveries among them are accepted.
func TestForgers(t *testing.T) {
	t.Parallel()
	const gaps, senders = 3, 32
	forged := 1000
	if !harness.Thorough(t) {
		forged = 250
	}
	secrets := newSecrets(t)
	secrets.Put(stored, secret, time.Now())
	w := newDeployed(t, secrets)
	job := w.batch("a", geminisim.StateSucceeded)
	// the keys are known from now on
	w.wantAccepted(w.unverified("token", event("batch.succeeded", job, t1)), "applied", "advanced", false)
	w.wantTaken(w.by("genuine", secret))
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	signature := w.token(map[string]any{}, geminisim.TokenOptions{})
	signature = signature[strings.LastIndex(signature, "."):]
	for gap := 1; gap <= gaps; gap++ {
		w.clock.Advance(time.Minute) // both gaps, and never a time to live
		body := event("batch.succeeded", "batches/forged", t1)
		claims := encode(`{"aud":"` + audience + `"}`)
		before := w.stored()
		work := make(chan int)
		var group sync.WaitGroup
		for range senders {
			group.Go(func() {
				for i := range work {
					forgery := "v1," + base64.StdEncoding.EncodeToString([]byte(rand.Text()+"123456"))
					switch i % 3 {
					case 1:
						forgery = encode(`{"alg":"RS256","kid":"`+rand.Text()+`"}`) + "." + claims + signature
					case 2:
						forgery += " " + encode(`{"alg":"RS256","kid":"`+rand.Text()+`"}`) + "." + claims + signature
					}
					r := w.request(http.MethodPost, w.tokened("forged", forgery), strings.NewReader(body))
					if r.Status != http.StatusUnauthorized {
						t.Errorf("W1: forged: %d %+v", r.Status, r.Body)
					}
					if i%100 == 0 {
						w.wantAccepted(w.by("genuine", secret), "duplicate", "", false)
					}
				}
			})
		}
		for i := range forged {
			work <- i
		}
		close(work)
		group.Wait()
		if after := w.stored(); len(after) != len(before) {
			t.Errorf("W1: %d documents after, %d before", len(after), len(before))
		}
		if n := secrets.Calls("ListSecretVersions"); n != 1+gap {
			t.Errorf("gap %d: the versions were listed %d times, want %d", gap, n, 1+gap)
		}
		if n := w.sim.Stats().JWKSRequests; n != 1+gap {
			t.Errorf("gap %d: the keys were fetched %d times, want %d", gap, n, 1+gap)
		}
	}
	if n := w.asked.Load(); n != 1 {
		t.Errorf("Gemini was asked about operations %d times, want once, for the genuine token", n)
	}
	w.clock.Advance(time.Minute)
	w.wantAccepted(w.by("genuine", secret), "duplicate", "", false)
	logged, counted := 0, 0
	for _, line := range w.logged() {
		switch {
		case line["event"] == "auth" && line["reason"] == "signature":
			logged++
		case line["event"] == "refusals" && line["reason"] == "signature":
			counted += int(line["refused"].(float64))
		}
	}
	if logged+counted != gaps*forged || logged != gaps*20 {
		t.Errorf("%d are logged and %d counted, want %d together", logged, counted, gaps*forged)
	}
}
