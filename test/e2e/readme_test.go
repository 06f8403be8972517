package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// readmeBlock returns the first code block of a language in shared/submit/README.md.
func readmeBlock(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "shared", "submit", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "\n```"+language+"\n")
	if !found {
		t.Fatalf("shared/submit/README.md has no block of %s", language)
	}
	block, _, _ = strings.Cut(block, "\n```\n")
	return block + "\n"
}

// TestReadmeSubmitter: the submitter in shared/submit/README.md works as it is written: the intent is
// recorded, the batch carries its id, is registered with it, and runs its effect; run again it
// submits nothing [G6, K6, L2].
func TestReadmeSubmitter(t *testing.T) {
	t.Parallel()
	const why = "the submitter in shared/submit/README.md is not run"
	program := harness.Program(t, "sh", why)
	harness.Program(t, "curl", why)
	path := filepath.Join(t.TempDir(), "submit.sh")
	if err := os.WriteFile(path, []byte(readmeBlock(t, "sh")), 0o600); err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, inFile(t), 1, geminisim.Config{Seed: 6, Speed: 1000})
	f.start()
	f.within(patience, "the instance is ready", func() bool { return f.instances[0].process().url() != "" })
	f.runReadme(program, path)
	batches := f.sim.Batches()
	if len(batches) != 1 {
		t.Fatalf("Gemini has %d batches, want 1", len(batches))
	}
	f.runReadme(program, path)
	if n := len(f.sim.Batches()); n != 1 {
		t.Errorf("run again, it submitted %d more", n-1)
	}
	id, _ := batches[0].UserMetadata["opledger_correlation_id"].(string)
	if id == "" || batches[0].DisplayName != "reviews opledger:"+id {
		t.Errorf("Gemini has %+v", batches[0])
	}
	f.within(patience, "the effect is done", func() bool { return f.allClosed(1) })
	f.withLedger(func(l *ledger.Ledger) error {
		r, err := l.Record(t.Context(), operation.Key(batches[0].Name))
		if r.CorrelationID != id || r.JobKind != "batch-review-classify" || r.Name != batches[0].Name {
			t.Errorf("%+v", r)
		}
		return err
	})
	if left := f.openIntents(); len(left) > 0 {
		t.Errorf("the intents %v wait", left)
	}
}

// runReadme runs a submitter as its user does.
func (f *fleet) runReadme(program, path string) {
	f.t.Helper()
	command := exec.CommandContext(f.t.Context(), program, path)
	command.Env = append(os.Environ(), "OPLEDGER_URL="+f.instances[0].process().url(),
		"GOOGLE_GEMINI_BASE_URL="+f.gemini.URL, "GEMINI_API_KEY=submitter", "OPLEDGER_TOKEN=",
		"NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	if out, err := command.CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v\n%s", path, err, out)
	}
}

// TestReadmeGo: what shared/submit/README.md shows of a Go program is part of one that compiles.
func TestReadmeGo(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile(filepath.Join("..", "..", "shared", "submit", "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	indented := "\t" + strings.ReplaceAll(strings.TrimSuffix(readmeBlock(t, "go"), "\n"), "\n", "\n\t")
	if !strings.Contains(string(program), indented) {
		t.Errorf("shared/submit/example_test.go does not have\n%s", indented)
	}
}
