package submission_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestSubmitJobFlags: every mistake in the flags and in the names of inputs is said at once, by the flag's name.
func TestSubmitJobFlags(t *testing.T) {
	t.Parallel()
	s := commandtest.Run(t, []string{"OPLEDGER_STORE=sqlite:none"}, "submit", "job", "none.jsonl", ".", "gs://bucket", "-",
		"-", "--id", "a b", "--model", "a model", "--max-attempts", "11", "--max-batches", "101", "--retry-on", "refused",
		"--max-bytes-per-batch", "9XB", "--max-requests-per-batch", "0", "--validate", "xml", "--max-failures", "101%",
		"--stop-after", "-1", "--metadata", "{", "--pilot-failures", "5%")
	for _, want := range []string{
		"--id: ", "--model: ", "--max-attempts: it must be from 1 to 10, not 11", "--max-batches: ", "--retry-on: ",
		`--max-bytes-per-batch: it must be a size such as 200MB or 1.5GiB, not "9XB"`, "--validate: ",
		"--max-requests-per-batch: ", "--max-failures: ", "--stop-after: ", "--pilot-failures: ", "metadata: ",
		"none.jsonl: no such file", ". is a folder", "gs://bucket names no object", "-: stdin can be read once",
	} {
		if !strings.Contains(s.Err, want) {
			t.Errorf("it does not say %q: %s", want, s.Err)
		}
	}
	s.Want(t, terminal.ExitUsage, "16 problems, and nothing was done:").Complaint(t)
	for _, args := range [][]string{
		{"submit", "job", "--id", "a", "--model", "m"}, {"submit", "job", "x", "--model", "m"},
		{"submit", "job", "x", "--id", "a"},
	} {
		commandtest.Run(t, nil, args...).Want(t, terminal.ExitUsage, "missing").Complaint(t)
	}
}

// TestSizes: a size has a unit, of thousands or of 1024.
func TestSizes(t *testing.T) {
	t.Parallel()
	input := inputFile(t, "reviews.jsonl", lines(10)) // of 87 bytes each
	for size, batches := range map[string]string{
		"870": "1 batch,", "869": "2 batches,", "0.5kB": "2 batches,", "435B": "2 batches,", "87 b": "10 batches,",
		"1KiB": "1 batch,", "0.0001 MB": "10 batches,", "2GiB": "1 batch,", "2G": "1 batch,",
	} {
		commandtest.Run(t, nil, jobArgs(input, "--dry-run", "--max-bytes-per-batch", size)...).Want(t, terminal.ExitDone).
			Says(t, "10 requests, "+batches)
	}
	for _, size := range []string{"", "MB", "-1", "3GiB", "1e30", "1 TB", "NaN", "0,5kB"} {
		commandtest.Run(t, nil, jobArgs(input, "--dry-run", "--max-bytes-per-batch", size)...).Want(t, terminal.ExitUsage,
			"--max-bytes-per-batch: ").Complaint(t)
	}
}
