package webhooks_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/webhooks"
)

// TestCreateEvents: a webhook subscribes to all nine events; after a refusal to those that it
// lists, else to the seven.
func TestCreateEvents(t *testing.T) {
	t.Parallel()
	seven := webhooks.AcceptedEvents()
	for _, c := range []struct {
		about, refusal string
		want           []string
		requests       int
	}{
		{"all accepted", "", webhooks.Events(), 1},
		{
			"the seven",
			`Invalid value "batch.cancelled" in subscribed_events. Supported values: ` + strings.Join(seven, ", ") + ".", seven,
			2,
		},
		{"eight", "Not supported: interaction.cancelled. Supported values: batch.cancelled, " + strings.Join(seven, ", "),
			append(slices.Clone(seven), "batch.cancelled"), 2},
		{"six", "must be one of " + strings.Join(seven[1:], " "), seven[1:], 2},
		{"names only what it refuses", "batch.cancelled, interaction.cancelled are not supported", seven, 2},
		{"names all", "Valid values: " + strings.Join(webhooks.Events(), " "), seven, 2},
		{"names none", "Request contains an invalid argument.", seven, 2},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			first := true
			w.instead(func(rw http.ResponseWriter, r *http.Request) bool {
				body, _ := io.ReadAll(r.Body)
				if first && c.refusal != "" {
					first = false
					says(rw, 400, fmt.Sprintf(`{"error":{"code":400,"message":%q,"status":"INVALID_ARGUMENT"}}`, c.refusal))
					return true
				}
				says(rw, 200, `{"id":"h","new_signing_secret":"whsec_x",`+strings.TrimPrefix(string(body), "{"))
				return true
			})
			created, err := w.client.Create(t.Context(), "", ours)
			if err != nil {
				t.Fatal(err)
			}
			var refused []string
			for _, event := range webhooks.Events() {
				if !slices.Contains(c.want, event) {
					refused = append(refused, event)
				}
			}
			want := [][]string{slices.Sorted(slices.Values(c.want)), refused}
			if diff := cmp.Diff(want, [][]string{slices.Sorted(slices.Values(created.Events)), created.Refused}); diff != "" {
				t.Errorf("events and refused ones, -want +got\n%s", diff)
			}
			if sent := w.requests(); len(sent) != c.requests || strings.Contains(sent[0], `"name"`) {
				t.Errorf("%d requests, want %d: %s", len(sent), c.requests, sent)
			}
		})
	}
}
