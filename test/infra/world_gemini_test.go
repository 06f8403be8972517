package infra_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// openGemini starts the simulated Gemini.
func (w *world) openGemini() {
	w.Helper()
	w.sim = geminisim.New(geminisim.Config{Now: w.clock.Now, Audience: audience})
	w.api = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if before, ok := w.before.Load().(func()); ok && strings.HasPrefix(r.URL.Path, "/v1beta/batches/") {
			before()
		}
		w.sim.ServeHTTP(rw, r)
	}))
	w.Cleanup(func() {
		w.sim.Close()
		w.api.Close()
	})
	var err error
	w.client, err = lookup.NewClient(lookup.Options{APIKey: "key", BaseURL: w.api.URL, HTTP: w.api.Client(),
		Now: w.clock.Now})
	if err != nil {
		w.Fatal(err)
	}
}

// batch makes a batch at Gemini that stays in a state.
func (w *world) batch(label string, state geminisim.State) operation.Name {
	w.Helper()
	w.sim.Script(label, geminisim.Script{Hold: state})
	body := fmt.Sprintf(`{"batch":{"displayName":%q,"inputConfig":{"fileName":"files/in"}}}`, label)
	r := httptest.NewRequestWithContext(w.Context(), http.MethodPost, "/v1beta/models/m:batchGenerateContent",
		strings.NewReader(body))
	r.Header.Set("X-Goog-Api-Key", "key")
	answer := httptest.NewRecorder()
	w.sim.ServeHTTP(answer, r)
	var made struct{ Name string }
	if err := json.Unmarshal(answer.Body.Bytes(), &made); err != nil || answer.Code != http.StatusOK {
		w.Fatalf("creating %s: %d %s", label, answer.Code, answer.Body)
	}
	return w.named(made.Name)
}
