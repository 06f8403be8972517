package results_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/results"
)

// TestNew: the rules about key and address are those of package api.
func TestNew(t *testing.T) {
	t.Parallel()
	for _, o := range []results.Options{{}, {APIKey: apiKey, BaseURL: "http://elsewhere"}} {
		if client, err := results.New(o); err == nil || client != nil || strings.Contains(err.Error(), apiKey) {
			t.Errorf("%v, %v", client, err)
		}
	}
	client, err := results.New(results.Options{APIKey: apiKey})
	if err != nil {
		t.Fatal(err)
	}
	if printed := fmt.Sprintf("%v %+v %#v", client, client, client); strings.Contains(printed, apiKey) {
		t.Errorf("printed %s", printed)
	}
}
