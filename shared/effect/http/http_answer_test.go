package http_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	effecthttp "github.com/opledger/opledger/shared/effect/http"
)

// TestHTTPEcho: a receiver that repeats the request brings nothing of it into an error, a document
// or the log, in no encoding: not path, query and userinfo of its URL, and not the headers with the
// signature. The rest of its answer is quoted.
func TestHTTPEcho(t *testing.T) {
	t.Parallel()
	const secretPath, secretQuery = "/hooks/T0AB/tok-Zx9w~Yq2Lm4", "sig=s3cr3t-value&lone-token"
	const user, password = "alice-of-ops", "hunter2/<&"
	for how, encode := range map[string]func(string) string{
		"as it is": func(text string) string { return text }, "percent-encoded": url.QueryEscape,
		"JSON":   func(text string) string { return fmt.Sprintf(`{"echo":%q}`, text) },
		"base64": func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
		"hex":    func(text string) string { return fmt.Sprintf("%x", text) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			carried := []string{secretPath, "tok-Zx9w", "T0AB", secretQuery, "s3cr3t-value", "lone-token", user, password,
				"gemini:batches/a#publish"}
			o := receive(t, func(w http.ResponseWriter, r *http.Request) {
				echoed := []string{r.URL.Path, r.URL.RawQuery, user, password}
				for _, header := range []string{"Authorization", "Webhook-Id", "Webhook-Signature", "Idempotency-Key"} {
					value := r.Header.Get(header)
					echoed, carried = append(echoed, value), append(carried, value)
				}
				w.WriteHeader(http.StatusNotFound)
				for _, text := range echoed {
					_, _ = io.WriteString(w, encode(text)+" ")
				}
				_, _ = io.WriteString(w, "is nowhere here")
			})
			u, err := url.Parse(o.URL)
			if err != nil {
				t.Fatal(err)
			}
			u.User, u.Path, u.RawQuery = url.UserPassword(user, password), secretPath, secretQuery
			o.URL = u.String()
			if o.Signer, err = effecthttp.NewSigner(signingSecret); err != nil {
				t.Fatal(err)
			}
			l, _ := planned(t)
			report, err := effect.NewRunner(l, map[string]effect.Handler{name: effecthttp.New(o)}).Run(t.Context(), message)
			if err != nil || report.Outcome != effect.Failed {
				t.Fatalf("%+v %v", report, err)
			}
			story, err := l.Operations.Show(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			for where, text := range map[string]string{"the cause": report.Cause.Error(),
				"lastError": story.Effects[0].LastError} {
				for _, secret := range carried {
					if secret == "" || strings.Contains(text, secret) || strings.Contains(text, strings.Trim(encode(secret), `{}"`)) {
						t.Errorf("%s has %q: %s", where, secret, text)
					}
				}
				if entry := story.Effects[0].History[0]; entry.Status != http.StatusNotFound ||
					!strings.HasPrefix(text, strings.TrimSuffix(entry.Error, "…")) {
					t.Errorf("the history has %+v, %s is %s", entry, where, text)
				}
				if !strings.Contains(text, u.Host+" answered 404 Not Found") || !strings.Contains(text, "is nowhere here") {
					t.Errorf("%s does not tell what was answered: %s", where, text)
				}
			}
		})
	}
}

// TestHTTPRaw: a malformed status line is not quoted either, nor an answer that is not effecthttp.
func TestHTTPRaw(t *testing.T) {
	t.Parallel()
	const token = "tok-Zx9w~Yq2Lm4"
	for answer, want := range map[string]string{
		"HTTP/1.1 404 no /hook/" + token + "\r\nContent-Length: 0\r\n\r\n": "answered 404 Not Found",
		"HTTP/1.1 599 no /hook/" + token + "\r\nContent-Length: 0\r\n\r\n": "answered 599",
		"HTTP/1.1 /hook/" + token + " 404\r\n\r\n":                         "malformed HTTP",
		"/hook/" + token + "\r\n\r\n":                                      "malformed HTTP",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			defer connection.Close() //nolint:errcheck // the test is about what came before
			_, _ = connection.Read(make([]byte, 4<<10))
			_, _ = io.WriteString(connection, answer)
		}()
		err = perform(t, effecthttp.Options{URL: "http://" + listener.Addr().String() + "/hook/" + token, AllowPrivate: true})
		_ = listener.Close()
		<-done
		if err == nil || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", answer, err, want)
		}
	}
}

// TestHTTPLongEcho: secrets are removed before the quotation is cut, so that no part of one is
// left.
func TestHTTPLongEcho(t *testing.T) {
	t.Parallel()
	o := receive(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, strings.Repeat("x", 290)+" "+r.URL.Path)
	})
	o.URL += "/tok-Zx9w~Yq2Lm4"
	if err := perform(t, o); err == nil || strings.Contains(err.Error(), "tok-") || len(err.Error()) > 400 {
		t.Errorf("%v", err)
	}
}

// TestHTTPStatuses: only 2xx is success. Statuses about the request itself are permanent, and so is
// what the spec adds. Everything else may be a deployment of the receiver and is retried. No
// redirect is followed [S4].
func TestHTTPStatuses(t *testing.T) {
	t.Parallel()
	var status, asked atomic.Int64
	o := receive(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/hook" {
			t.Errorf("followed to %s", r.URL)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(status.Load()))
		if status.Load() != 204 && status.Load() != 304 {
			_, _ = io.WriteString(w, "because I say so")
		}
	})
	never := []int{400, 405, 406, 410, 411, 413, 414, 415, 422, 431, 501}
	for _, also := range [][]int{nil, {404, 503}} {
		o.Permanent = also
		for code := 200; code <= 599; code++ {
			status.Store(int64(code))
			before := asked.Load()
			err := perform(t, o)
			done := code < 300
			permanent := code >= 300 && code < 400 || slices.Contains(never, code) || slices.Contains(also, code)
			if (err == nil) != done || effect.IsPermanent(err) != permanent {
				t.Errorf("%d beside %v: %v, want done %t, permanent %t", code, also, err, done, permanent)
			}
			if err != nil && (!strings.Contains(err.Error(), fmt.Sprint(code)) || code != 304 &&
				!strings.Contains(err.Error(), "because I say so")) {
				t.Errorf("%d: %v does not tell what was answered", code, err)
			}
			if n := asked.Load() - before; n != 1 {
				t.Errorf("%d: asked %d times", code, n)
			}
		}
	}
}

// TestHTTPEmptyAnswer: the error of an empty answer is its status alone.
func TestHTTPEmptyAnswer(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	defer receiver.Close()
	err := perform(t, effecthttp.Options{URL: receiver.URL, AllowPrivate: true})
	if want := receiver.URL + " answered 503 Service Unavailable"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestHTTPRetryAfter: the Runner waits for the receiver's Retry-After, in seconds or as a date, up
// to a bound.
func TestHTTPRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "3600": time.Hour, "3601": time.Hour, "999999999999": time.Hour,
		noon.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		noon.Add(48 * time.Hour).Format(http.TimeFormat):   time.Hour,
		noon.Add(-time.Hour).Format(http.TimeFormat):       0,
		"0": 0, "-5": 0, "soon": 0, "": 0,
	} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			o := receive(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", header)
				w.WriteHeader(http.StatusTooManyRequests)
			})
			err := perform(t, o)
			inner := effect.RetryDelay(err)
			if inner != want {
				t.Errorf("%v after %v, want %v", err, inner, want)
			}
		})
	}
}

// TestHTTPSecretInURL: the userinfo of a URL is not in errors, which are stored and logged.
func TestHTTPSecretInURL(t *testing.T) {
	t.Parallel()
	o := receive(t, func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "hunter2" {
			t.Errorf("password %q", password)
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	o.URL = strings.Replace(o.URL, "http://", "http://user:hunter2@", 1)
	if err := perform(t, o); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

// TestHTTPSecretAnywhereInURL: neither an answer nor a failed connection puts the path or the query
// into an error. Many receivers have a token there.
func TestHTTPSecretAnywhereInURL(t *testing.T) {
	t.Parallel()
	o := receive(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	for _, where := range []string{o.URL, "http://127.0.0.1:1/hook", "http://127.0.0.1:1:2/hook",
		"http://host.invalid/hook"} {
		o.URL = where + "/hunter2?token=hunter2"
		if err := perform(t, o); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v", err)
		}
	}
}
