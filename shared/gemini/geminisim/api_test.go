package geminisim_test

import (
	"testing"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// TestVersions: the API answers at v1, which @google/genai 3.1.0 asks, as at v1beta.
func TestVersions(t *testing.T) {
	t.Parallel()
	sim, _, srv := serve(t, geminisim.Config{})
	stable, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "any", Backend: genai.BackendGeminiAPI, HTTPClient: srv.Client(),
		HTTPOptions: genai.HTTPOptions{BaseURL: srv.URL, APIVersion: "v1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	sim.Script("job", geminisim.Script{Hold: geminisim.StateSucceeded})
	job := create(t, stable, "job")
	if got, err := stable.Batches.Get(t.Context(), job.Name, nil); err != nil || got.DisplayName != "job" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, path := range []string{"/v1/", "/v1beta/", "/download/v1/", "/download/v1beta/"} {
		w := call(t, sim, "GET", path+"files/batch-"+job.Name[len("batches/"):]+":download?alt=media", "")
		if w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
