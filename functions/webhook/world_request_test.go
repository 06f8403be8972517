package webhook_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// sign makes a Standard Webhooks signature, written here from the specification.
func sign(secret, id, timestamp string, body []byte) string {
	key, err := base64.StdEncoding.DecodeString(secret[len("whsec_"):])
	if err != nil {
		panic(err)
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// signed returns the headers of a delivery that is signed with secret at a time.
func signed(secret, id string, at time.Time, body []byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return http.Header{
		"Content-Type":      {"application/json"},
		"Webhook-Id":        {id},
		"Webhook-Timestamp": {stamp},
		"Webhook-Signature": {sign(secret, id, stamp, body)},
	}
}

// A reply is the function's answer.
type reply struct {
	Status int
	Header http.Header
	Body   struct {
		Outcome    string
		Reason     string
		Registered bool
		Error      *struct {
			Code     int
			Message  string
			Problems []string
		}
	}
}

// request sends a request.
func (w *world) request(method string, header http.Header, body io.Reader) reply {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), method, w.server.URL+"/webhook", body)
	if err != nil {
		w.Fatal(err)
	}
	request.Header = header
	response, err := w.server.Client().Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	r := reply{Status: response.StatusCode, Header: response.Header}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	if method == http.MethodHead {
		return r
	}
	if err := json.Unmarshal(text, &r.Body); err != nil {
		w.Fatalf("the answer %q is not JSON: %v", text, err)
	}
	if got := response.Header.Get("Content-Type"); got != "application/json" {
		w.Errorf("Content-Type %q", got)
	}
	if (r.Status != http.StatusOK) != (r.Body.Error != nil) || r.Body.Error != nil &&
		(r.Body.Error.Code != r.Status || r.Body.Error.Message == "") {
		w.Errorf("status %d with %s", r.Status, text)
	}
	return r
}

// deliver sends a body that is signed now.
func (w *world) deliver(id, body string) reply {
	w.Helper()
	return w.request(http.MethodPost, signed(secret, id, w.clock.Now(), []byte(body)), bytes.NewReader([]byte(body)))
}

// wantAccepted checks the answer and the log line of an accepted delivery.
func (w *world) wantAccepted(r reply, outcome, reason string, registered bool) {
	w.Helper()
	if r.Status != http.StatusOK || r.Body.Outcome != outcome || r.Body.Reason != reason ||
		r.Body.Registered != registered {
		w.Errorf("answer %d %+v, want 200 %s %q registered=%t", r.Status, r.Body, outcome, reason, registered)
	}
}

// event is a body as Gemini documents it.
func event(kind, id, timestamp string) string {
	return fmt.Sprintf(`{"type":%q,"version":"v1","timestamp":%q,"data":{"id":%q}}`, kind, timestamp, id)
}
