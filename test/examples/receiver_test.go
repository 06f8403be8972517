package examples

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// A receiver is how an example is started that receives effects.
type receiver struct {
	dir     string
	command []string
	ending  []string // that where it ends at once; nil: command
	wrong   int      // the exit code where a setting is wrong; 0: 1
}

// start starts the example, and returns the URL that it says.
func (r receiver) start(t *testing.T, inbox string) (*process, string) {
	t.Helper()
	env := []string{"OPLEDGER_EFFECT_SECRET=" + secret, "INBOX=" + inbox, "PORT=0"}
	p := start(t, r.dir, env, r.command[0], r.command[1:]...)
	return p, p.await("receives on ")
}

// ends runs the example where it ends at once, and returns what it said and its exit code.
func (r receiver) ends(t *testing.T, env []string) (string, int) {
	t.Helper()
	command := r.command
	if r.ending != nil {
		command = r.ending
	}
	return exitOf(t, r.dir, env, command[0], command[1:]...)
}

const (
	completionKey = "gemini:batches/abc#publish"
	completion    = `{"operation":"batches/abc","state":"SUCCEEDED","result":{},"metadata":null,` +
		`"idempotencyKey":"` + completionKey + `"}`
)

// acceptsOnce: what is signed is accepted once, also by the next process with the same inbox; a
// repeat is answered 200. All else is answered 401 [K4].
func (r receiver) acceptsOnce(t *testing.T, inbox string) {
	t.Helper()
	for i := range 2 {
		p, url := r.start(t, inbox)
		for _, body := range []string{completion + " ", ""} {
			if status := post(t, url, completion, body); status != http.StatusUnauthorized {
				t.Errorf("a request with another body is answered %d", status)
			}
		}
		if i == 0 {
			refusesTooMuch(t, url)
		}
		for range 2 {
			if status := post(t, url, completion, completion); status != http.StatusOK {
				t.Errorf("a signed request is answered %d", status)
			}
		}
		p.await("repeated " + completionKey)
		p.stop()
		accepted := 0
		for _, line := range p.said() {
			if strings.HasPrefix(line, "accepted "+completionKey) {
				accepted++
			}
		}
		if accepted != 1-i {
			t.Errorf("process %d accepted the key %d times, want %d", i+1, accepted, 1-i)
		}
	}
}

// refusesTooMuch: a body that is too long is answered 413, and not kept.
func refusesTooMuch(t *testing.T, url string) {
	t.Helper()
	const length = 64<<20 + 1
	body := io.LimitReader(zeros{}, length)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	request.ContentLength = length
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("a body that is too long is not answered: %v", err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too long is answered %d", response.StatusCode)
	}
}

// zeros is a body without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// needsSecret: without a secret, with one of another form, and with one so short that it could be
// guessed, the example says what to do, and no more.
func (r receiver) needsSecret(t *testing.T) {
	t.Helper()
	for _, wrong := range []string{
		"", "!!!", "whsec_", "whsec_!!!!!!!!!!!!!!!!!!!!!!!!", "whsec_MDEyMzQ1Njc4OQ==", strings.TrimPrefix(secret, "whsec_"),
	} {
		env := []string{"OPLEDGER_EFFECT_SECRET=" + wrong, "INBOX=" + t.TempDir() + "/inbox", "PORT=none"}
		out, code := r.ends(t, env)
		if code != max(r.wrong, 1) || !strings.Contains(out, "OPLEDGER_EFFECT_SECRET") || strings.Count(out, "\n") > 1 {
			t.Errorf("with the secret %q it ended with %d and said %s", wrong, code, out)
		}
	}
}

// needsPort: where its port is taken, or none, the example says what to do, and no more.
func (r receiver) needsPort(t *testing.T) {
	t.Helper()
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Listener.Addr().String())
	for _, port := range []string{port, "none", "65536"} {
		env := []string{"OPLEDGER_EFFECT_SECRET=" + secret, "INBOX=" + t.TempDir() + "/inbox", "PORT=" + port}
		out, code := r.ends(t, env)
		if code != max(r.wrong, 1) || !strings.Contains(out, "set PORT to a free one") || strings.Count(out, "\n") > 2 {
			t.Errorf("with the port %s it ended with %d and said %s", port, code, out)
		}
	}
}

// needsInbox: where its inbox cannot be there, the example says what to do, and no more.
func (r receiver) needsInbox(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"OPLEDGER_EFFECT_SECRET=" + secret, "INBOX=" + path + "/inbox", "PORT=0"}
	out, code := r.ends(t, env)
	if code != max(r.wrong, 1) || !strings.Contains(out, "INBOX is ") || strings.Count(out, "\n") > 1 {
		t.Errorf("it ended with %d and said %s", code, out)
	}
}

// post sends a body with the signature of what was signed, and returns the status.
func post(t *testing.T, url, signed, body string) int {
	t.Helper()
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	signature, err := key.Sign("msg_1", now, []byte(signed))
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(standardwebhooks.HeaderWebhookID, "msg_1")
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
