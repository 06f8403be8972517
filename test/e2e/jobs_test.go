package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
	"github.com/opledger/opledger/test/harness"
)

// jobWithin is how long a job may take: a creation that a kill made uncertain waits five minutes for Gemini's
// list, and so may the next.
const jobWithin = 15 * time.Minute

// A nightly is a job that a fleet runs, and what is known of it from outside.
type nightly struct {
	*fleet
	key              operation.Key
	requests         int
	location, bucket string // its job storage; bucket is where a simulated Cloud Storage listens
}

// newNightly makes a fleet whose Gemini counts what it is sent.
func newNightly(t *testing.T, b backend, n, requests int, config geminisim.Config) *nightly {
	t.Helper()
	config.CountKeys, config.Folder = true, t.TempDir()
	config.Speed, config.RunTime = 200, [2]time.Duration{time.Minute, 4 * time.Minute}
	return &nightly{fleet: newFleet(t, b, n, config), key: "jobs/nightly", requests: requests}
}

// requestKey is the key of the nth request.
func requestKey(n int) string { return fmt.Sprintf("review-%07d", n) }

// submitJob submits the job with the command, and checks what it says.
func (n *nightly) submitJob(batches int) {
	n.t.Helper()
	var input bytes.Buffer
	for i := range n.requests {
		fmt.Fprintf(&input, `{"key":%q,"request":{"contents":[{"parts":[{"text":"Classify it."}]}]}}`+"\n", requestKey(i))
	}
	path := filepath.Join(n.t.TempDir(), "reviews.jsonl")
	if err := os.WriteFile(path, input.Bytes(), 0o600); err != nil {
		n.t.Fatal(err)
	}
	said := opledger(n.t, n.variables("cli"), "submit", "job", path, "--id", n.key.ID(), "--model", "gemini-3.5-flash",
		"--max-requests-per-batch", fmt.Sprint((n.requests+batches-1)/batches), "--max-failures", "10%").want(n.t, 0)
	if !strings.HasPrefix(said.out, string(n.key)+": ") || !strings.Contains(said.out, "; accepted") {
		n.t.Errorf("it says %q", said.out)
	}
}

// wait waits until the job has ended and its effect is done.
func (n *nightly) wait() {
	n.t.Helper()
	n.within(jobWithin, "the job has ended and its effect is done", func() bool {
		rec, err := n.ledger().Operations.Read(n.t.Context(), n.key)
		return err == nil && rec.Closed()
	})
}

// check holds what the job left against what was asked and sent: each key once, with the answer to it, sent no
// more often than allowed; one effect [J2, J5, J7, J8, J9].
func (n *nightly) check() job.Job {
	n.t.Helper()
	stored, err := n.ledger().Jobs.Read(n.t.Context(), n.key)
	if err != nil {
		n.t.Fatal(err)
	}
	j := stored.Job
	opened, err := storage.Open(n.location, n.bucket)
	if err != nil {
		n.t.Fatal(err)
	}
	var results bytes.Buffer
	complete, err := files.Copy(n.t.Context(), n.ledger(), opened, n.key, files.Results, &results)
	if err != nil || !complete {
		n.t.Fatalf("the results are complete: %v, %v", complete, err)
	}
	keys, counts := make([]string, 0, n.requests), job.Counts{Unmatched: j.Counts.Unmatched}
	for text := range bytes.Lines(results.Bytes()) {
		var line files.Line
		if err := json.Unmarshal(text, &line); err != nil {
			n.t.Fatalf("%s: %v", text, err)
		}
		keys, counts = append(keys, line.Key), counts.Add(line.Outcome.Counts())
		if answer := "Result of " + line.Key + ", sent "; line.Outcome == job.OutcomeDone &&
			!strings.Contains(string(line.Response), answer) {
			n.t.Errorf("%s has another's answer: %s", line.Key, line.Response)
		}
	}
	slices.Sort(keys)
	for i := range n.requests {
		if i >= len(keys) || keys[i] != requestKey(i) {
			n.t.Fatalf("of %d requests there are %d lines, and not one of each key at %s", n.requests, len(keys), requestKey(i))
		}
		if sent := n.sim.Sent(requestKey(i)); sent > j.Options.MaxAttempts+j.Twins {
			n.t.Errorf("%s was sent %d times, with %d twins", requestKey(i), sent, j.Twins)
		}
	}
	if len(keys) != n.requests || counts != j.Counts {
		n.t.Errorf("%d lines, counted %+v, recorded %+v", len(keys), counts, j.Counts)
	}
	n.checkEffect(j)
	return j
}

// checkEffect checks that the job ended as its counts say, with one effect, which the receiver took once.
func (n *nightly) checkEffect(j job.Job) {
	n.t.Helper()
	rec, err := n.ledger().Operations.Read(n.t.Context(), n.key)
	if state, _ := j.Verdict(); err != nil || rec.State != state || j.Phase != job.Ended {
		n.t.Errorf("the record is %s, the job %s, want %s: %v", rec.State, j.Phase, state, err)
	}
	if keys, want := n.receiver.keys(), []string{operation.IdempotencyKey(n.key, "publish")}; !slices.Equal(keys, want) {
		n.t.Errorf("the effects that ran are %q, want %q", keys, want)
	}
	if problems, _, _ := n.receiver.audit(); len(problems) > 0 {
		n.t.Errorf("doubled: %q", problems)
	}
}

// TestCloudJob: on both emulators, with two processes and job storage in a bucket, each request of a job ends
// once, whatever a bad week brings.
func TestCloudJob(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	bucket := storagesim.Start(storagesim.Config{Buckets: []string{"jobs"}})
	t.Cleanup(bucket.Close)
	n := newNightly(t, c.backend, 2, harness.Soak(t, 1_200, 2_400, 12_000), geminisim.Config{
		Seed: 11, Faults: geminisim.Normal(),
	})
	n.location, n.bucket = "gs://jobs/ours", bucket.Addr()
	n.settings = []string{
		"OPLEDGER_JOB_STORAGE=" + n.location, "STORAGE_EMULATOR_HOST=" + n.bucket,
		"OPLEDGER_CLAIM_TTL=1m", // no process dies, and a busy machine must not look as if one had
	}
	c.push(n.front.URL+"/effects", "")
	n.start()
	n.within(patience, "the processes are ready", func() bool {
		return !slices.ContainsFunc(n.instances, func(i *instance) bool { return i.process().url() == "" })
	})
	began := time.Now()
	n.submitJob(12)
	n.wait()
	j := n.check()
	t.Logf("%d requests in %d batches and %d rounds took %.1f s: %+v", n.requests, j.Batches, j.Round,
		time.Since(began).Seconds(), j.Counts)
}
