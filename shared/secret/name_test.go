package secret_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/secret"
)

func TestParseName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, says string }{
		{"projects/my-project/secrets/opledger-webhook", ""},
		{"projects/123456/secrets/S_1", ""},
		{"projects/example.com:old/secrets/s", ""},
		{"projects/p/secrets/s/versions/latest", "without a version"},
		{"projects/p/secrets/s/versions/3", "without a version"},
		{"projects/p/secrets/", "projects/PROJECT/secrets/SECRET"},
		{"projects//secrets/s", "projects/PROJECT/secrets/SECRET"},
		{"projects/p/secrets/s/", "projects/PROJECT/secrets/SECRET"},
		{"projects/p/topics/s", "projects/PROJECT/secrets/SECRET"},
		{"projects/p/secrets/s s", "projects/PROJECT/secrets/SECRET"},
		{" projects/p/secrets/s", "projects/PROJECT/secrets/SECRET"},
		{"", "projects/PROJECT/secrets/SECRET"},
		{"hunter2", "projects/PROJECT/secrets/SECRET"},
	} {
		name, err := secret.ParseName(c.text)
		if c.says == "" {
			if err != nil || name.String() != c.text {
				t.Errorf("%q: %v, %v", c.text, name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || name != (secret.Name{}) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, %v, want %q", c.text, name, err, c.says)
		}
	}
}
