package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestLogVolume: an intent, the registration, a delivery that ends the operation, and an effect leave at most 1 KB in
// the log. The start and one pass among many are in that.
func TestLogVolume(t *testing.T) {
	t.Parallel()
	const operations, most = 40, 1000
	log := logOf(t, operations)
	if each := len(log) / operations; each > most {
		t.Errorf("an operation leaves %d bytes in the log, more than %d:\n%s", each, most, log[:5*most])
	} else {
		t.Logf("%d bytes for each operation", each)
	}
}

// logOf returns the log of a serve in which so many operations lived.
func logOf(t *testing.T, operations int) string {
	t.Helper()
	done := make(chan struct{}, operations)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { done <- struct{}{} }))
	defer receiver.Close()
	secret := "OPLEDGER_WEBHOOK_SECRET=" + commandtest.DeliverSecret
	s := commandtest.Serving(t, []string{secret, "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		`OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: http, url: "` + receiver.URL + `"}]`})
	for i := range operations {
		id := fmt.Sprintf("nightly-2026-11-28-%04d", i)
		name := fmt.Sprintf("batches/qv7xk2m9d4w8r5t1n6b3c0zqv7xk2m9d%04d", i) // as long as Gemini's
		submission := fmt.Sprintf(`"correlationId":%q,"jobKind":"reviews","metadata":{"sheet":"reviews of November"}`, id)
		register(t, s.URL, `{"intent":true,"collection":"batches",`+submission+`}`)
		register(t, s.URL, `{"name":"`+name+`",`+submission+`}`)
		commandtest.Run(t, []string{secret}, "webhook", "deliver", "--to", s.URL+"/webhook", "batch.succeeded", name).
			Want(t, terminal.ExitDone)
	}
	for range operations {
		<-done
	}
	return s.Stop() // it waits for what is in progress
}

// register sends a registration or an intent.
func register(t *testing.T, url, body string) {
	t.Helper()
	answer, err := http.Post(url+"/register", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s, %v", body, answer.Status, err)
	}
}
