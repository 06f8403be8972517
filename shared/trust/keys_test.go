package trust_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/trust"
)

// A keyServer publishes keys over HTTP.
type keyServer struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int64
}

func newKeyServer(t *testing.T) (*keyServer, *trust.Gate) {
	t.Helper()
	s := &keyServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		(*s.answer.Load())(w, r)
	}))
	t.Cleanup(s.Close)
	tokens, err := trust.NewTokens(trust.TokensOptions{
		Audiences: []string{audience}, KeysURL: s.URL,
		Transport: &http.Transport{DisableKeepAlives: true}, // on a kept connection that breaks, a Transport asks twice
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, newGate(t, nil, tokens)
}

func (s *keyServer) set(answer http.HandlerFunc) { s.answer.Store(&answer) }

func (s *keyServer) publish(keys ...string) {
	s.set(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, keySet(keys...)) })
}

// TestKeysSurviveABadAnswer: known keys stay in use after a bad answer. Without known keys a bad
// answer is ErrUnavailable.
func TestKeysSurviveABadAnswer(t *testing.T) {
	t.Parallel()
	good := keySet(jwk(&publishedKey().PublicKey, keyID))
	says := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, text) //nolint:errcheck // the client may have gone
		}
	}
	other := httptest.NewServer(says(http.StatusOK, good))
	t.Cleanup(other.Close)
	for name, bad := range map[string]http.HandlerFunc{
		"500":             says(http.StatusInternalServerError, good),
		"404":             says(http.StatusNotFound, good),
		"203":             says(http.StatusNonAuthoritativeInfo, good),
		"garbage":         says(http.StatusOK, "<html>"),
		"list":            says(http.StatusOK, "["+good+"]"),
		"null":            says(http.StatusOK, "null"),
		"empty":           says(http.StatusOK, ""),
		"no keys":         says(http.StatusOK, keySet()),
		"small keys":      says(http.StatusOK, keySet(jwk(&smallKey().PublicKey, keyID))),
		"2 MB":            says(http.StatusOK, strings.Repeat(" ", 2<<20)+good),
		"a byte too many": says(http.StatusOK, good+strings.Repeat(" ", 1<<20+1-len(good))),
		"2 MB after":      says(http.StatusOK, good+strings.Repeat(" ", 2<<20)),
		"truncated":       says(http.StatusOK, good[:len(good)-3]),
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9999")
			fmt.Fprint(w, good) //nolint:errcheck // the client may have gone
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) },
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, gate := newKeyServer(t)
			verify := func(after time.Duration) error {
				now := start.Add(after)
				_, err := gate.Verify(t.Context(), headers(now, goodToken(now)), whole([]byte(body)), now)
				return err
			}
			s.set(bad)
			if err := verify(0); !errors.Is(err, trust.ErrUnavailable) {
				t.Errorf("W1: without keys: %v", err)
			}
			s.set(says(http.StatusOK, good))
			if err := verify(time.Minute); err != nil {
				t.Errorf("W1: with keys: %v", err)
			}
			s.set(bad)
			if err := verify(2 * time.Hour); err != nil {
				t.Errorf("W1: with old keys: %v", err)
			}
			if err := verify(2*time.Hour + time.Minute); !errors.Is(err, trust.ErrUnavailable) {
				t.Errorf("W1: with keys that are too old: %v", err)
			}
			if n := s.asked.Load(); n != 4 {
				t.Errorf("asked %d times, want 4", n)
			}
		})
	}
}

// TestLargestKeys: a key set of exactly a mebibyte is read.
func TestLargestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := keySet(jwk(&publishedKey().PublicKey, keyID))
	w.keys.set(good+strings.Repeat(" ", 1<<20-len(good)), nil)
	if err := w.verify(headers(start, goodToken(start)), start); err != nil {
		t.Error(err)
	}
}

// TestKeysDownIsLoggedOnce: that keys cannot be fetched is logged once, and once that they can
// again.
func TestKeysDownIsLoggedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := keySet(jwk(&publishedKey().PublicKey, keyID))
	for i, test := range []struct {
		text    string
		err     error
		outcome any
	}{{good, nil, nil}, {"", errDown, "stale-keys"}, {"", errDown, nil}, {"garbage", nil, "stale-keys"},
		{good, nil, "renewed"}, {good, nil, nil}} {
		w.keys.set(test.text, test.err)
		now := start.Add(time.Hour + time.Duration(i)*time.Minute)
		if i == 0 {
			now = start
		}
		if err := w.verify(headers(now, goodToken(now)), now); err != nil {
			t.Fatal(err)
		}
		if lines := w.log.Drain(t); !outcome(lines, test.outcome) {
			t.Errorf("step %d: logged %v, want %v", i, lines, test.outcome)
		}
	}
}

// TestKeysErrorKeepsQuery: the query in the URL of the keys is in no error, neither from net/http nor
// from the server's status.
func TestKeysErrorKeepsQuery(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, address := range []string{server.URL, "http://127.0.0.1:1"} {
		tokens, err := trust.NewTokens(trust.TokensOptions{
			Audiences: []string{audience}, KeysURL: address + "/jwks?tenant=hunter2-hunter2",
			Transport: &http.Transport{DisableKeepAlives: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = newGate(t, nil, tokens).Verify(t.Context(), headers(start, goodToken(start)), whole([]byte(body)), start)
		if err == nil || strings.Contains(err.Error(), "hunter2") ||
			!strings.Contains(err.Error(), strings.TrimPrefix(address, "http://")) {
			t.Errorf("%v", err)
		}
	}
}

// TestKeysFromASlowServer: a delivery whose sender disconnects does not end the fetch for later
// ones.
func TestKeysFromASlowServer(t *testing.T) {
	t.Parallel()
	s, gate := newKeyServer(t)
	asked, release := make(chan struct{}), make(chan struct{})
	s.set(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-release
		fmt.Fprint(w, keySet(jwk(&publishedKey().PublicKey, keyID)))
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	h := headers(start, goodToken(start))
	if _, err := gate.Verify(ctx, h, whole([]byte(body)), start); !errors.Is(err, trust.ErrUnavailable) ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("W1: got %v", err)
	}
	close(release)
	if _, err := gate.Verify(t.Context(), h, whole([]byte(body)), start); err != nil {
		t.Errorf("W1: got %v", err)
	}
}

// TestKeysRotate: a new key counts from the first token that names it. An old one counts until the
// set is fetched again.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	s, gate := newKeyServer(t)
	first, second := jwk(&publishedKey().PublicKey, keyID), jwk(&forgersKey().PublicKey, "key-2")
	s.publish(first)
	verify := func(after time.Duration, second bool, want error, asked int64) {
		t.Helper()
		now := start.Add(after)
		token := goodToken(now)
		if second {
			token = rs256(forgersKey(), `{"alg":"RS256","kid":"key-2"}`, goodClaims(now, nil))
		}
		if _, err := gate.Verify(t.Context(), headers(now, token), whole([]byte(body)), now); !errors.Is(err, want) {
			t.Errorf("W1 after %v: got %v, want %v", after, err, want)
		}
		if n := s.asked.Load(); n != asked {
			t.Errorf("after %v: asked %d times, want %d", after, n, asked)
		}
	}
	verify(0, false, nil, 1)
	s.publish(first, second)
	verify(59*time.Second, true, gemini.ErrSignature, 1) // the gap
	verify(time.Minute, true, nil, 2)
	s.publish(second)
	verify(time.Hour, false, nil, 2)
	verify(61*time.Minute, false, gemini.ErrSignature, 3)
	verify(61*time.Minute, true, nil, 3)
	s.publish(first, second)
	verify(62*time.Minute, false, nil, 4)
}

// TestUnknownKeyIsNotFetchedAgain: an unknown key causes no other fetch for a while, but does
// later.
func TestUnknownKeyIsNotFetchedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, test := range []struct {
		after time.Duration
		asked int64
	}{{0, 1}, {time.Minute, 2}, {2 * time.Minute, 2}, {6*time.Minute - 1, 2}, {6 * time.Minute, 3}, {7 * time.Minute, 3}} {
		now := start.Add(test.after)
		token := rs256(forgersKey(), `{"alg":"RS256","kid":"unknown"}`, goodClaims(now, nil))
		if err := w.verify(headers(now, token), now); !errors.Is(err, gemini.ErrSignature) {
			t.Errorf("W1: got %v", err)
		}
		if n := w.keys.asked.Load(); n != test.asked {
			t.Errorf("after %v: asked %d times, want %d", test.after, n, test.asked)
		}
	}
}
