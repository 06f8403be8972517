package trust_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini"
)

// TestForgeriesCauseNoFetches: a thousand forged deliveries at once, each with a key id of its own,
// cost one fetch of secrets and one of keys per gap, whether the sources answer or are down.
// Genuine deliveries are accepted meanwhile.
func TestForgeriesCauseNoFetches(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprintf("down %t", down), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if err := w.verify(headers(start, "v1,AAAA "+goodToken(start)), start); err != nil {
				t.Fatal(err)
			}
			if down {
				w.secrets.set(nil, errDown)
				w.keys.set("", errDown)
			}
			for gap := range 6 {
				now := start.Add(time.Duration(gap) * 30 * time.Second)
				w.attack(1000, now)
				// Secrets are asked for at most every 30 s, keys every minute; the first time was the
				// good delivery's.
				if n := w.secrets.asked.Load(); n != int64(gap+1) {
					t.Errorf("W7 at %v: secrets fetched %d times", now.Sub(start), n)
				}
				if n := w.keys.asked.Load(); n != int64(gap/2+1) {
					t.Errorf("W7 at %v: keys fetched %d times", now.Sub(start), n)
				}
			}
		})
	}
}

// attack sends n forged deliveries at once, with a genuine one of either kind after every hundred.
func (w *world) attack(n int, now time.Time) {
	var group sync.WaitGroup
	static, token := headers(now, sign(secretA, now)), headers(now, goodToken(now))
	for i := range n {
		group.Go(func() {
			forged := encode(`{"alg":"RS256","kid":"`+rand.Text()+`"}`) + "." + encode(goodClaims(now, nil)) + "." +
				encode(rand.Text())
			h := headers(now, "v1,"+encode(rand.Text()), forged)
			if err := w.verify(h, now); !errors.Is(err, gemini.ErrSignature) {
				w.Errorf("W1: forged: %v", err)
			}
			if i%100 != 0 {
				return
			}
			if err := errors.Join(w.verify(static, now), w.verify(token, now)); err != nil {
				w.Errorf("W1: refused during an attack: %v", err)
			}
		})
	}
	group.Wait()
}

// TestMalformedTokensCauseNoFetch: what cannot be a token for this receiver is refused without
// fetching keys.
func TestMalformedTokensCauseNoFetch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	payload := goodClaims(start, nil)
	for _, header := range []string{
		`{"alg":"none","kid":"a"}`, `{"alg":"HS256","kid":"a"}`, `{"alg":"RS512","kid":"a"}`, `{"alg":"PS256","kid":"a"}`,
		`{"kid":"a"}`,
		`{"alg":"RS256"}`, `{"alg":"RS256","kid":""}`, `{"alg":"RS256","kid":"` + strings.Repeat("k", 257) + `"}`,
		`{"alg":"RS256","kid":"a"`, ``,
	} {
		if err := w.verify(headers(start, rs256(forgersKey(), header, payload)), start); !errors.Is(err,
			gemini.ErrSignature) {
			t.Errorf("W1 %s: got %v", header, err)
		}
		if w.keys.asked.Swap(0) != 0 {
			t.Errorf("W7 %s: keys were fetched", header)
		}
	}
}

// TestForgeriesBeforeTheFirstSecret: a secret that does not exist yet is fetched no more often than
// one that does.
func TestForgeriesBeforeTheFirstSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.secrets.set(nil, nil)
	for gap := range 4 {
		now := start.Add(time.Duration(gap) * 30 * time.Second)
		var group sync.WaitGroup
		for range 1000 {
			group.Go(func() {
				if err := w.verify(headers(now, "v1,AAAA"), now); !errors.Is(err, gemini.ErrNoSecret) {
					w.Errorf("W1: got %v", err)
				}
			})
		}
		group.Wait()
		if n := w.secrets.asked.Load(); n != int64(gap+1) {
			t.Errorf("W7 at %v: secrets fetched %d times", now.Sub(start), n)
		}
	}
}
