package examples

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// envTypeScript names a copy of scripts/examples/typescript with its packages installed; a copy of scripts/typescript,
// with its own, is where it is from there.
const envTypeScript = "EXAMPLES_TYPESCRIPT"

// TestTypeScript: the client's own tests, then the examples.
func TestTypeScript(t *testing.T) {
	t.Parallel()
	dir := cmp.Or(os.Getenv(envTypeScript), root+"/scripts/examples/typescript")
	node := harness.Program(t, "node", "the examples in TypeScript are not run")
	npm := harness.Program(t, "npm", "the examples in TypeScript are not run")
	client := filepath.Join(dir, "../../typescript")
	for _, folder := range []string{client, dir} {
		if _, err := os.Stat(filepath.Join(folder, "node_modules", "typescript")); err != nil {
			harness.Missing(t, "the packages of "+folder+" are not installed (npm ci); the examples in TypeScript are not run")
		}
	}
	if out, ok := run(t, client, nil, npm, "test"); !ok { // it compiles, too
		t.Fatal(out)
	}
	if out, ok := run(t, dir, nil, npm, "run", "-s", "build"); !ok {
		t.Fatal(out)
	}
	for script, want := range map[string]string{
		"submit": "usage: submit batch FILE ID", "receiver": "OPLEDGER_EFFECT_SECRET is not",
	} {
		if out, ok := run(t, dir, nil, npm, "run", "-s", script); ok || !strings.Contains(out, want) {
			t.Errorf("npm run %s ended with success %v and said %s; want %q", script, ok, out, want)
		}
	}
	language{
		submitter: submitter{
			dir: dir, command: []string{node, "dist/submit.js"}, ends: true,
			unanswered: "no answer says whether it was submitted", refused: "nothing runs",
		},
		receiver: receiver{dir: dir, command: []string{node, "dist/receiver.js"}, wrong: 2},
	}.test(t)
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		getsThrough(t, dir, node, "--input-type=module", "-e", submitInTypeScript)
	})
}
