package api_test

import (
	"testing"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// TestCheckAbout: an answer about another operation is no answer, and one without a name is.
func TestCheckAbout(t *testing.T) {
	t.Parallel()
	name, err := operation.ParseName("batches/a", "")
	if err != nil {
		t.Fatal(err)
	}
	for said, about := range map[string]bool{
		"": true, "batches/a": true, "models/m/batches/a": true, "a": true,
		"batches/b": false, "interactions/a": false, "batches/\uFFFD": false,
	} {
		if err := api.CheckAbout(name, said); (err == nil) != about {
			t.Errorf("%q: %v", said, err)
		}
	}
}
