package webhook_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/trust"
)

// TestQuarantine: a signed body that cannot be decoded is quarantined whole [W6], with a reason
// that lists what was found [K3].
func TestQuarantine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	noise := make([]byte, 200<<10) // neither text nor compressible
	_, _ = rand.Read(noise)
	for id, c := range map[string]struct{ body, detail string }{
		"empty":    {"", "not a JSON object"},
		"cut":      {`{"type":"batch.succ`, "not a JSON object"},
		"list":     {`[1]`, "not a JSON object"},
		"null":     {`null`, "null"},
		"no-type":  {`{"data":{"id":"batches/a"}}`, "no type"},
		"no-name":  {`{"type":"batch.succeeded","data":{"output_file_uri":"files/x"}}`, "data.output_file_uri"},
		"bad-name": {`{"type":"batch.succeeded","data":{"id":"` + strings.Repeat("a", 2000) + `"}}`, "2000 bytes"},
		"not-utf8": {"{\"type\":\"batch.succeeded\",\"data\":{\"id\":\"\xff\"}}", "not UTF-8"},
		"noise":    {string(noise), "not UTF-8"},
		// Decoded, they would all be one operation [K1], and the last two one correlation id [K6].
		"surrogate": {`{"type":"batch.succeeded","data":{"id":"batches/a\ud800"}}`, "U+FFFD"},
		"another":   {`{"type":"batch.succeeded","data":{"id":"batches/a\udfff"}}`, "U+FFFD"},
		"replaced":  {"{\"type\":\"batch.succeeded\",\"data\":{\"id\":\"batches/a\uFFFD\"}}", "U+FFFD"},
		"correlation": {`{"type":"batch.succeeded","data":{"id":"x",` +
			`"user_metadata":{"opledger_correlation_id":"c\ud800"}}}`, "U+FFFD"},
		"beside it": {`{"type":"batch.succeeded","data":{"id":"x"},"userMetadata":{"opledger_correlation_id":"c\udfff"}}`,
			"U+FFFD"},
		"nul":    {"\x00\x01", "not a JSON object"},
		"spaces": {" \n {\"type\":\"batch.succeeded\"} \n", "names no operation"},
	} {
		w.wantAccepted(w.deliver(id, c.body), "quarantined", "malformed", false)
		w.wantLog(map[string]any{"event": "quarantine", "outcome": "quarantined", "reason": "malformed", "delivery": id})
		kept := w.kept(id)
		if string(kept.whole) != c.body || kept.ID != id || kept.Reason != "malformed" ||
			!strings.Contains(kept.Detail, c.detail) {
			t.Errorf("%s: kept %d of %d bytes, reason %s, detail %q, want %q", id, len(kept.whole), len(c.body), kept.Reason,
				kept.Detail, c.detail)
		}
		if kept.ExpireAt.Sub(kept.ReceivedAt) != 14*24*time.Hour {
			t.Errorf("%s: kept from %s to %s", id, kept.ReceivedAt, kept.ExpireAt)
		}
	}
	// The text of an error may be cut within a character.
	w.wantAccepted(w.deliver("text", `{"type":"batch.failed","data":{"id":"batches/a","error_message":"cut \ud83d"}}`),
		"applied", "advanced", false)
	ping := `{"type":"webhook.ping","data":{}}`
	w.wantAccepted(w.deliver("ping", ping), "ignored", "unknown-type", false)
	if kept := w.kept("ping"); string(kept.whole) != ping || kept.Type != "webhook.ping" || kept.Reason != "unknown-type" {
		t.Errorf("the ping was kept as %+v", kept)
	}
}

// TestQuarantineHeaders: four headers are kept with a quarantined body. The signature and all
// others are not, since they could be misused [W6].
func TestQuarantineHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	for id, body := range map[string]string{"malformed": "{", "unknown": `{"type":"webhook.ping"}`} {
		header := signed(secret, id, w.clock.Now(), []byte(body))
		header.Set("User-Agent", "Google-Gemini "+strings.Repeat("x", 1000))
		header.Set("Authorization", "Bearer hunter2")
		header.Set("Cookie", "session=hunter2")
		header.Set("X-Forwarded-For", "192.0.2.1")
		if r := w.request(http.MethodPost, header, strings.NewReader(body)); r.Status != http.StatusOK {
			t.Fatalf("%s: %d %+v", id, r.Status, r.Body)
		}
		want := map[string]string{
			"webhook-id": id, "webhook-timestamp": header.Get("Webhook-Timestamp"), "content-type": "application/json",
			"user-agent": header.Get("User-Agent")[:300],
		}
		got := w.kept(id).Headers
		if agent := got["user-agent"]; len(agent) > 300 || !strings.HasPrefix(agent, "Google-Gemini x") {
			t.Errorf("%s: the user agent is %q", id, agent)
		}
		got["user-agent"] = want["user-agent"] // cut, in whichever way
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", id, diff)
		}
		for path, document := range w.stored() {
			if strings.Contains(document, "hunter2") || strings.Contains(document, header.Get("Webhook-Signature")[3:]) {
				t.Errorf("%s keeps a secret: %s", path, document)
			}
		}
	}
}

type kept struct {
	ledger.Quarantined
	whole []byte
}

// kept returns a quarantined body.
func (w *world) kept(id string) kept {
	w.Helper()
	var k kept
	var err error
	if k.Quarantined, k.whole, err = w.ledger.Quarantine.Read(w.Context(), id); err != nil {
		w.Errorf("what is kept of delivery %s: %v", id, err)
	}
	return k
}

// TestTooLargeForTheStore: a signed event that the store can never take is quarantined and answered
// 200, because no retry fixes it [W6].
func TestTooLargeForTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("batches/a")
	// Below 1 MiB on the wire, above it in the record: "<" is six bytes there.
	file := strings.Repeat("<", 300<<10)
	body := fmt.Sprintf(`{"type":"batch.succeeded","timestamp":%q,"data":{"id":"batches/a","output_file_uri":%q}}`, t1,
		file)
	w.wantAccepted(w.deliver("large", body), "quarantined", "refused-by-store", false)
	if kept := w.kept("large"); string(kept.whole) != body || kept.Type != "batch.succeeded" {
		t.Errorf("kept %d of %d bytes, type %q", len(kept.whole), len(body), kept.Type)
	}
	if state := w.show("batches/a").Record.State; state != "PENDING" {
		t.Errorf("the record is %s: reconciliation would not ask", state)
	}
}

// TestLargestQuarantined: the largest body that is read is quarantined whole, even if it does not
// compress. Otherwise it would be redelivered for 24 hours [W6].
func TestLargestQuarantined(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	noise := make([]byte, 1<<20)
	_, _ = rand.Read(noise)
	w.wantAccepted(w.deliver("noise", string(noise)), "quarantined", "malformed", false)
	if kept := w.kept("noise"); !bytes.Equal(noise, kept.whole) {
		t.Errorf("kept %d of %d bytes", len(kept.whole), len(noise))
	}
	w.wantAccepted(w.deliver("noise", string(noise)), "duplicate", "malformed", false)
	// A type as long as a body can be.
	long := `{"type":"` + strings.Repeat("a", 1<<20-11) + `"}`
	w.wantAccepted(w.deliver("long", long), "ignored", "unknown-type", false)
	if kept := w.kept("long"); string(kept.whole) != long || len(kept.Type) > 4000 {
		t.Errorf("kept %d bytes of %d, type of %d", len(kept.whole), len(long), len(kept.Type))
	}
}

// TestTooLargeAndNotSigned: an unsigned event that the store can never take is dropped and answered
// 200, because an error would bring it back [M8].
func TestTooLargeAndNotSigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{confirm: trust.Never})
	w.register("batches/a")
	body := fmt.Sprintf(`{"type":"batch.succeeded","data":{"id":"batches/a","output_file_uri":%q}}`,
		strings.Repeat("<", 300<<10))
	w.unwritten(func() { w.wantAccepted(w.unverified("large", body), "ignored", "refused-by-store", false) })
}
