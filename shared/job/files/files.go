// Package files is what a job keeps in job storage.
//
//	ID/job.json                              what was submitted under the id, created once, before the job
//	ID/SHA256/input.jsonl                    the input: canonical lines
//	ID/SHA256/parts/00012/FENCE-WHAT-N.jsonl what the steps of a part wrote: results, requests to be sent again
//	ID/SHA256/results.jsonl                  the results, once the job has ended; beside it failed, unmatched
//
// An object is created once and never changes. The name of what a step writes has the fencing token of its
// claim, so that the objects of two workers never mix. What no commit of the ledger names does not exist:
// it is left of a worker that died.
package files

import (
	"fmt"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// Input returns the name of the input with this SHA-256, in hexadecimal digits, of a job.
func Input(key operation.Key, sha256 string) string { return folder(key, sha256) + "input.jsonl" }

// The kinds of objects that a job leaves.
const (
	Results   = "results"
	Failed    = "failed"
	Unmatched = "unmatched"
)

// Output returns the name of an object that a job leaves, such as Results.
func Output(j job.Job, kind string) string { return folder(j.Key, j.Input.SHA256) + kind + ".jsonl" }

// Of returns the name of the nth object of a kind that the holder of a claim with this
// fencing token writes.
func Of(j job.Job, part int, fence int64, kind string, n int) string {
	return fmt.Sprintf("%s%05d/%d-%s-%04d.jsonl", Working(j), part, fence, kind, n)
}

// Working returns what the names of all objects begin with that are needed only until the job has ended.
func Working(j job.Job) string { return folder(j.Key, j.Input.SHA256) + "parts/" }

func folder(key operation.Key, sha256 string) string { return Folder(key) + sha256 + "/" }

// Folder returns what the names of all objects of a job begin with.
func Folder(key operation.Key) string { return key.ID() + "/" }
