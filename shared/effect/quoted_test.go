package effect_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/storagesim"
)

// TestHTTPEcho: a receiver that repeats what it was sent brings nothing of it into an error, a
// document or the log, in no encoding: not path, query and userinfo of its URL, and not the headers
// with the signature. What it says of its own stays.
func TestHTTPEcho(t *testing.T) {
	t.Parallel()
	const secretPath, secretQuery, user, password = "/hooks/T0AB/tok-Zx9w~Yq2Lm4", "sig=s3cr3t-value&lone-token", "alice-of-ops", "hunter2/<&"
	for how, encode := range map[string]func(string) string{
		"as it is": func(text string) string { return text }, "percent-encoded": url.QueryEscape,
		"JSON":   func(text string) string { return fmt.Sprintf(`{"echo":%q}`, text) },
		"base64": func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
		"hex":    func(text string) string { return fmt.Sprintf("%x", text) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			carried := []string{secretPath, "tok-Zx9w", "T0AB", secretQuery, "s3cr3t-value", "lone-token", user, password, "gemini:batches/a#publish"}
			o := receive(t, func(w http.ResponseWriter, r *http.Request) {
				said := []string{r.URL.Path, r.URL.RawQuery, user, password}
				for _, header := range []string{"Authorization", "Webhook-Id", "Webhook-Signature", "Idempotency-Key"} {
					value := r.Header.Get(header)
					said, carried = append(said, value), append(carried, value)
				}
				w.WriteHeader(http.StatusNotFound)
				for _, text := range said {
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
			if o.Signer, err = effect.NewSigner(signingSecret); err != nil {
				t.Fatal(err)
			}
			l, _ := planned(t)
			report, err := effect.NewRunner(l, map[string]effect.Handler{name: effect.HTTP(o)}).Run(t.Context(), message)
			if err != nil || report.Outcome != effect.Failed {
				t.Fatalf("%+v %v", report, err)
			}
			story, err := l.Show(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			for where, text := range map[string]string{"the cause": report.Cause.Error(), "lastError": story.Effects[0].LastError} {
				for _, secret := range carried {
					if secret == "" || strings.Contains(text, secret) || strings.Contains(text, strings.Trim(encode(secret), `{}"`)) {
						t.Errorf("%s has %q: %s", where, secret, text)
					}
				}
				if !strings.Contains(text, u.Host+" answered 404 Not Found") || !strings.Contains(text, "is nowhere here") {
					t.Errorf("%s does not tell what was answered: %s", where, text)
				}
			}
		})
	}
}

// TestHTTPRaw: what stands where the status and its words should stand is not repeated either, nor
// what is no HTTP at all.
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
		err = perform(t, effect.HTTPOptions{URL: "http://" + listener.Addr().String() + "/hook/" + token, AllowPrivate: true})
		_ = listener.Close()
		<-done
		if err == nil || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", answer, err, want)
		}
	}
}

// TestHTTPLongEcho: what is repeated is taken out before the quotation is cut, so that no half of
// it is left.
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

// TestObjectEcho: neither the URL of an upload, with which anybody may go on with it, nor the
// caller's headers come into an error.
func TestObjectEcho(t *testing.T) {
	t.Parallel()
	for _, point := range []storagesim.Point{storagesim.Begin, storagesim.Chunk, storagesim.Last} {
		w := newBucketWorld(t, many(several, 1000))
		w.end()
		w.sim.Fail(point, http.StatusMethodNotAllowed, "")
		text := w.attempt(effect.Died).Cause.Error()
		if strings.Contains(text, "secret-of-") || strings.Contains(text, "/upload/storage") || !strings.Contains(text, "fails as the test says: [path]") {
			t.Errorf("%s: %s", point, text)
		}
	}
}

// TestPubSubEcho: a credential that Pub/Sub, or what makes tokens for it, repeats is not in the
// error, whose code stays.
func TestPubSubEcho(t *testing.T) {
	t.Parallel()
	server, topics := serveTopic(t)
	server.failing(codes.InvalidArgument)
	server.because("Bearer ya29.a0AfH6SMBx_1234567 will not do")
	_, err := effect.PubSub(topics, completions, 0).Perform(t.Context(), completion(1))
	if !effect.IsPermanent(err) || strings.Contains(err.Error(), "ya29") || !strings.Contains(err.Error(), "[credential] will not do") {
		t.Error(err)
	}
}
