package spec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/operation"
)

// TestMasked has the cases of Terraform's masks.
func TestMasked(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "infra", "tests", "masked.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct{ About, Text, Masked string }
	if err := json.Unmarshal(text, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		got := spec.Masked(c.Text)
		if got != c.Masked {
			t.Errorf("%s: %s, want %s", c.About, got, c.Masked)
		}
		if again := spec.Masked(got); again != got {
			t.Errorf("%s: masked twice it is %s", c.About, again)
		}
	}
}

// TestPlainSecrets: an effect whose url seems to hold a secret is reported by its name, and nothing
// of the URL is repeated.
func TestPlainSecrets(t *testing.T) {
	t.Parallel()
	specs, err := kinds.ParseSpecs([]byte(`
- {name: a, on: [FAILED], do: http, url: "https://example.com/completions"}
- {name: b, on: [FAILED], do: http, url: "https://example.com/?key=hunter2"}
- {name: c, on: [FAILED], do: http, urlSecret: projects/p/secrets/hunter2-0123456789}
- {name: d, on: [FAILED], do: log}
`), operation.Transitions{})
	if err != nil {
		t.Fatal(err)
	}
	problems := diag.Split(spec.Warnings(specs))
	if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), `effect "b": its url seems to hold a secret`) ||
		strings.Contains(problems[0].Error(), "hunter2") {
		t.Errorf("%v", problems)
	}
}
