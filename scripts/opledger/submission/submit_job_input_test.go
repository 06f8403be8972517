package submission_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/test/commandtest"
)

// TestSubmitJobInputs: an input is plain or gzip, one file or several, stdin, or an object of Cloud Storage.
func TestSubmitJobInputs(t *testing.T) {
	t.Parallel()
	sim := storagesim.Start(storagesim.Config{})
	t.Cleanup(sim.Close)
	sim.Put("bucket", "2026=11/c.jsonl", line("c"), nil)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(strings.Replace(line("b"), "key", "custom_id", 1))); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	args := []string{
		"submit", "job", inputFile(t, "a.jsonl", line("a")), "gs://bucket/2026=11/c.jsonl", "-", "--dry-run", "--id", "n",
		"--model", "m",
	}
	variables := []string{"STORAGE_EMULATOR_HOST=" + sim.Addr()}
	commandtest.Answer(t, variables, line("d"), args...).Want(t, terminal.ExitDone).Says(t,
		"jobs/n: 3 requests, 1 batch, ")
	commandtest.Run(t, nil, "submit", "job", inputFile(t, "b.jsonl.gz", packed.String()), "--key-field", "custom_id",
		"--dry-run", "--id", "n", "--model", "m").Want(t, terminal.ExitDone).Says(t, "jobs/n: 1 request, 1 batch, ")
	args[3] = "gs://bucket/none.jsonl"
	commandtest.Answer(t, variables, "", args...).Want(t, terminal.ExitUnread, "reading the input gs://bucket/none.jsonl").
		Complaint(t)
}

func line(key string) string {
	return fmt.Sprintf(`{"key":%q,"request":{"contents":[{"parts":[{"text":"x"}]}]}}`, key) + "\n"
}

// TestSubmitJobProblems: everything that is wrong with an input is said at once, the first 20 problems with
// their lines, and nothing is created.
func TestSubmitJobProblems(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	input := inputFile(t, "bad.jsonl", line("a")+line("a")+strings.Repeat("{}\n", 10)+"no\n")
	said := commandtest.Run(t, variables, jobArgs(input)...).Want(t, terminal.ExitUsage,
		"22 problems, and nothing was done:", "bad.jsonl:2: key: ", "bad.jsonl:3: key: it is missing", "2 more problems")
	if strings.Count(said.Err, "bad.jsonl:") != 21 { // and once as the place of the first key
		t.Error(said.Err)
	}
	schema := `{"key":"a","request":{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseJsonSchema":` +
		`{"type":7}}}}` + "\n"
	input = inputFile(t, "schema.jsonl", schema)
	commandtest.Run(t, variables, jobArgs(input, "--validate", "schema")...).Want(t, terminal.ExitUsage,
		"schema.jsonl:1: request: ").Complaint(t)
	commandtest.Run(t, variables, "show", "jobs/nightly").Want(t, terminal.ExitFailed, "opledger list").Complaint(t)
}

// TestSubmitJobInterrupted: an interrupt ends the reading of an input, and nothing is created.
func TestSubmitJobInterrupted(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, stderr bytes.Buffer
	code := root.Run(ctx, jobArgs("-"), terminal.Environment{
		Variables: []string{"OPLEDGER_STORE=" + f.Store()}, In: interrupting{cancel}, Out: &out, Err: &stderr,
	})
	if code == terminal.ExitDone || !strings.Contains(stderr.String(), "it was interrupted; nothing was created") {
		t.Errorf("exit code %d: %s%s", code, &out, &stderr)
	}
}

// interrupting is an endless input, at whose first read the command is interrupted.
type interrupting struct{ cancel func() }

func (i interrupting) Read(p []byte) (int, error) {
	i.cancel()
	return copy(p, line("a")), nil
}
