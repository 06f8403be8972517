package geminisim_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestPlaceOfUserMetadata(t *testing.T) {
	t.Parallel()
	metadata := map[string]any{"correlation": "c-1"}
	for place, want := range map[geminisim.MetadataPlace]map[string]any{
		geminisim.MetadataInData: {"data": map[string]any{"id": "batches/x", "user_metadata": metadata}},
		geminisim.MetadataAtTop:  {"data": map[string]any{"id": "batches/x"}, "user_metadata": metadata},
		geminisim.MetadataInInteraction: {
			"data": map[string]any{"id": "batches/x", "interaction": map[string]any{"user_metadata": metadata}},
		},
		geminisim.MetadataInClaims: {"data": map[string]any{"id": "batches/x"}},
	} {
		rc := &receiver{}
		sim := geminisim.New(geminisim.Config{MetadataIn: place, HTTP: rc.client()})
		sim.Script("c-1", geminisim.Script{Hold: geminisim.StateRunning})
		name := submit(t, sim, "c-1")
		for _, d := range []geminisim.Delivery{
			{URL: own, Secrets: []string{testSecret}, Type: "batch.expired", Name: "c-1"},
			{URL: own, Dynamic: true, Type: "batch.expired", Name: "c-1"},
		} {
			if _, _, err := sim.Deliver(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		for i, d := range rc.all() {
			var body map[string]any
			if err := json.Unmarshal([]byte(d.Body), &body); err != nil {
				t.Fatal(err)
			}
			want["data"].(map[string]any)["id"] = name
			for _, key := range []string{"type", "version", "timestamp"} {
				delete(body, key)
			}
			if diff := cmp.Diff(want, body); diff != "" {
				t.Errorf("%q: %s", place, diff)
			}
			if i == 1 {
				claimed := claims(t, sim, d.Header.Get("webhook-signature"))["user_metadata"]
				if (place == geminisim.MetadataInClaims) != cmp.Equal(claimed, any(metadata)) {
					t.Errorf("%q: claimed %v", place, claimed)
				}
			}
		}
		sim.Close()
	}
}
