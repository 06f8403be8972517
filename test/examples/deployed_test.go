package examples

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http/httptest"
	"testing"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/storage"
)

const deployedInPython = `
import os
from opledger import NotSettledError, Opledger
client = Opledger(os.environ["OPLEDGER_URL"], storage="gs://jobs-of-reviews/nightly", storage_token="token")
rows = [(f"row-{i}", "x" * (1 << 20)) for i in range(9)]
jobs = [client.jobs.submit("one", rows, model="gemini-3.5-flash") for _ in range(2)]
print(*[job.known for job in jobs], jobs[0].progress["input"]["requests"])
print(*[result.key for result in client.results("batches/a", at="gs://jobs-of-reviews/batches/a/publish.jsonl")])
try:
    list(client.jobs.results("one"))
except NotSettledError as error:
    print(error.operation.state)`

const deployedInTypeScript = `
import { NotSettledError, Opledger } from "opledger";
const client = new Opledger("", { storage: "gs://jobs-of-reviews/nightly", storageToken: "token" });
const rows = Array.from({ length: 9 }, (_, i) => ["row-" + i, "x".repeat(1 << 20)]);
const jobs = [];
for (let i = 0; i < 2; i++) jobs.push(await client.jobs.submit("one", rows, { model: "gemini-3.5-flash" }));
console.log(...jobs.map(({ known }) => (known ? "True" : "False")), jobs[0].progress.input.requests);
const keys = [];
const at = "gs://jobs-of-reviews/batches/a/publish.jsonl";
for await (const { key } of client.results("batches/a", { at })) keys.push(key);
console.log(...keys);
try {
  for await (const result of client.jobs.results("one")) console.log(result);
} catch (error) {
  if (error instanceof NotSettledError) console.log(error.operation.state);
}`

// submitsDeployed: with Register, as it is deployed, an input goes to job storage in pieces, once; what an effect has
// put in a bucket is read from there.
func submitsDeployed(t *testing.T, dir string, command ...string) {
	t.Helper()
	sim := storagesim.Start(storagesim.Config{Buckets: []string{"jobs-of-reviews"}})
	t.Cleanup(sim.Close)
	const results = `{"key":"a","response":{}}` + "\n" + `{"key":"b","error":{}}`
	sim.Put("jobs-of-reviews", "batches/a/publish.jsonl", results, nil)
	jobs, err := storage.Open("gs://jobs-of-reviews/nightly", sim.Addr())
	if err != nil {
		t.Fatal(err)
	}
	k := newKilling(t)
	deployed := httptest.NewServer(register.New(register.Options{
		Ledger: k.ledger, Now: k.clock.Now, Log: slog.New(slog.DiscardHandler), Storage: jobs,
	}))
	t.Cleanup(deployed.Close)
	env := []string{"OPLEDGER_URL=" + deployed.URL, "STORAGE_EMULATOR_HOST=" + sim.Addr()}
	out, ok := run(t, dir, env, command[0], command[1:]...)
	if want := "False True 9\na b\nPENDING\n"; !ok || out != want {
		t.Fatalf("it said %s, want %s", out, want)
	}
	j, err := k.ledger.Jobs.Read(t.Context(), "jobs/one")
	if err != nil {
		t.Fatal(err)
	}
	stored := sim.Object("jobs-of-reviews", "nightly/"+j.Input.Object)
	sum := sha256.Sum256(stored.Content)
	// It is the second object of all, and was not written again.
	if hex.EncodeToString(sum[:]) != j.Input.SHA256 || stored.Generation != 2 ||
		int64(len(stored.Content)) != j.Input.Bytes {
		t.Errorf("%d bytes, generation %d: %+v", len(stored.Content), stored.Generation, j.Input)
	}
}
