package effect

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

// TestWithoutURL: neither half of a URL that authenticates its sender is in an error.
func TestWithoutURL(t *testing.T) {
	t.Parallel()
	cause := errors.New("no route")
	for _, err := range []error{&url.Error{Op: "Post", URL: "https://host/token", Err: cause}, cause} {
		if got := withoutURL(err); !errors.Is(got, cause) || strings.Contains(got.Error(), "token") {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}

// TestSecretsWithoutAReader: where nothing reads secrets, the error names the field and the source.
func TestSecretsWithoutAReader(t *testing.T) {
	t.Parallel()
	s := Secrets{Token: Source{Variable: "CRM_TOKEN"}}
	_, err := s.read(t.Context(), "https://host/", nil)
	if err == nil || err.Error() != "tokenSecret: nothing reads env:CRM_TOKEN" {
		t.Error(err)
	}
}
