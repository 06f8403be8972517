package http

import (
	"testing"

	"github.com/opledger/opledger/shared/effect/spec"
)

// TestSecretsWithoutAReader: where nothing reads secrets, the error names the field and the source.
func TestSecretsWithoutAReader(t *testing.T) {
	t.Parallel()
	s := Secrets{Token: spec.Source{Variable: "CRM_TOKEN"}}
	_, err := s.read(t.Context(), "https://host/", nil)
	if err == nil || err.Error() != "tokenSecret: nothing reads env:CRM_TOKEN" {
		t.Error(err)
	}
}
