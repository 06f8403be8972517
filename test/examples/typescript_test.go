package examples

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// envTypeScript names a copy of scripts/examples/typescript with its packages installed; a copy of scripts/typescript,
// with its own, is where it is from there.
const envTypeScript = "EXAMPLES_TYPESCRIPT"

// TestTypeScript: the client's own tests, and the examples.
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
	for _, folder := range []string{client, dir} {
		if out, ok := run(t, folder, nil, npm, "run", "-s", "build"); !ok {
			t.Fatal(out)
		}
	}
	t.Run("the package", func(t *testing.T) { // as npm test does, which builds it again
		t.Parallel()
		env := []string{"OPLEDGER_COMMAND=" + opledger(t), "INVOICES=" + filepath.Join(t.TempDir(), "invoices.db")}
		if out, ok := run(t, client, env, node, "dist/test/all.js"); !ok {
			t.Error(out)
		}
	})
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
	t.Run("deployed", func(t *testing.T) {
		t.Parallel()
		submitsDeployed(t, dir, node, "--input-type=module", "-e", deployedInTypeScript)
	})
	t.Run("a night", func(t *testing.T) {
		t.Parallel()
		ratesReviews(t, dir, node)
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		getsThrough(t, points, dir, node, "--input-type=module", "-e", submitInTypeScript)
	})
}

// ratesReviews: a CSV becomes a CSV, and once more after the program was killed while the job ran. A table without the
// columns is refused.
func ratesReviews(t *testing.T, dir, node string) {
	t.Helper()
	w := newWorld(t, nil)
	folder := t.TempDir()
	source, target := filepath.Join(folder, "reviews.csv"), filepath.Join(folder, "rated.csv")
	reviews := "\ufeffid,shop,text\r\n1,\"Zürich, \"\"Mitte\"\"\",\"It is,\ngood.\"\r\n2,Bern,\r\n"
	if err := os.WriteFile(source, []byte(reviews), 0o600); err != nil {
		t.Fatal(err)
	}
	killed := start(t, dir, w.env, node, "dist/nightly.js", source, target, "night-1")
	killed.await("jobs/night-1 submitted")
	killed.stop()
	out, ok := run(t, dir, w.env, node, "dist/nightly.js", source, target, "night-1")
	if !ok || !strings.Contains(out, "was submitted before") {
		t.Fatalf("success %v: %s", ok, out)
	}
	rated, err := os.ReadFile(target)
	pattern := "^id,shop,text,rating,outcome\r\n" +
		"1,\"Zürich, \"\"Mitte\"\"\",\"It is,\ngood.\",.+,done\r\n2,Bern,,.+,done\r\n$"
	if err != nil || !regexp.MustCompile(pattern).Match(rated) {
		t.Errorf("%q, %v", rated, err)
	}
	if err := os.WriteFile(source, []byte("name\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, ok := run(t, dir, w.env, node, "dist/nightly.js", source, target, "night-2"); ok ||
		!strings.Contains(out, "the columns id and text") {
		t.Errorf("success %v: %s", ok, out)
	}
}
