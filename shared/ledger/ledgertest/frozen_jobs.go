package ledgertest

import (
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

func frozenJob() job.Job {
	return job.Job{
		Schema: 2, Version: 1, Key: "jobs/nightly",
		Options: job.Options{
			Model: "gemini-3.5-flash", MaxRequestsPerBatch: 1, MaxBytesPerBatch: 2, MaxAttempts: 3, MaxBatches: 4,
			RetryOn: []string{"invalid"}, Validate: "json", MaxFailures: "1%", StopAfter: "5", Embed: true,
			Deadline: at(6), CancelAfterSeconds: 86400, Priority: 7,
			Pilot: 6, PilotFailures: "5%", MaxCost: 7.5,
		},
		Input:   job.Input{SHA256: "0a1b", Bytes: 6, Requests: 7, Tokens: 8, Object: "nightly/input", Checked: true},
		Storage: "gs://bucket/jobs", JobKind: "reviews", Phase: job.Running, Cut: 9, Parts: 10, Batches: 11, Twins: 1,
		Round: 12,
		Waiting: []job.Gathering{{
			Round: 2, Sources: []job.Source{frozenSource("nightly/again")}, Requests: 13, Bytes: 14, Since: at(1),
		}},
		Refusals: map[string]int{"3": 10}, Counts: frozenCounts(), Usage: frozenUsage(), Refusal: "INVALID_ARGUMENT",
		Invalid:   "line 3 has no key",
		Cancelled: &operation.Decided{At: at(2), By: "operator", Why: "a test"}, Stopped: "too many",
		DeadlineReached: at(7),
		Hold: &job.Hold{
			Reason: job.HeldByOperator, Decided: operation.Decided{At: at(2), By: "operator", Why: "a test"},
			Alerted: true,
		},
		Resumed: &operation.Decided{At: at(1), By: "operator", Why: "a test"},
		Submitted: &job.Options{
			Model: "gemini-3.5-flash", MaxRequestsPerBatch: 1, MaxBytesPerBatch: 2, MaxAttempts: 3, MaxBatches: 5,
			RetryOn: []string{"invalid"}, Validate: "json", MaxFailures: "2%", StopAfter: "6", Embed: true,
			Deadline: at(5), CancelAfterSeconds: 86401, Priority: 8,
			Pilot: 6, PilotFailures: "5%", MaxCost: 7.5,
		},
		Changes: []job.Change{{
			What: "maxBatches 5 → 4", Decided: operation.Decided{At: at(2), By: "operator", Why: "a test"},
		}},
		Redrives: "jobs/evening",
		RedrivenBy: []job.Redrive{{
			Job: "jobs/nightly-2", Outcomes: []job.Outcome{job.OutcomeFailed},
			Decided: operation.Decided{At: at(4), By: "operator", Why: "a test"},
		}},
		Pilot: 14, Failures: frozenFailures(), Price: &job.Price{Input: 0.5, Output: 2.5}, Sent: 30,
		References: frozenReferences(),
		Output: job.Output{
			Results: frozenObject("results.jsonl"), Failed: frozenObject("failed.jsonl"),
			Unmatched: frozenObject("unmatched.jsonl"),
		},
		CreatedAt: at(3), SteppedAt: at(4), ExpireAt: at(5),
	}
}

func frozenPart() job.Part {
	return job.Part{
		Schema: 2, Version: 1, Key: "jobs/nightly/00012", Number: 12, Round: 2, Root: 3, Depth: 4, State: job.Started,
		Sources: []job.Source{frozenSource("nightly/input")}, Requests: 5, Bytes: 6,
		Files: []job.File{{Name: "files/abc", ExpiresAt: at(1)}}, Creations: 7, Declined: 8, Batch: "batches/abc-123",
		StartedAt: at(4), CancelAt: at(7),
		Waits: job.WaitsForQuota, WaitsSince: at(2), PutOffSince: at(1), Alerted: true, Problem: "a problem",
		Aside: true, PlacedAt: at(2), TooLarge: true,
		LookUp: job.LookUpPlanned, LookedUp: new(frozenReferences()), Unreferenced: true,
		Pieces: []job.Source{frozenSource("nightly/piece")}, CancelPlanned: true,
		Released: &operation.Decided{At: at(3), By: "operator", Why: "a test"},
		Results: job.Results{
			Final: []job.Object{frozenObject("final")}, Failed: []job.Object{frozenObject("failed")},
			Again: []job.Source{frozenSource("again")}, Unmatched: []job.Object{frozenObject("unmatched")},
			Tally: "30-1f", Seen: []job.Object{frozenObject("seen")}, Counts: frozenCounts(), Usage: frozenUsage(),
			Failures: frozenFailures(),
		},
		CreatedAt: at(4), WaitingSince: at(5), ExpireAt: at(6),
	}
}

func frozenReferences() job.References {
	return job.References{
		List: frozenObject("references"), Count: 31, Round: 2, Gone: 32, First: "files/abc", Open: 33, Expires: at(3),
		Refused: 34, Held: 35,
	}
}

func frozenFailures() []job.Failure {
	return []job.Failure{{Key: "review-1", Outcome: job.OutcomeRefused, Why: "a problem"}}
}

func frozenObject(name string) job.Object { return job.Object{Name: name, Size: 15, CRC32C: 16} }

func frozenSource(object string) job.Source {
	return job.Source{Object: object, Offset: 17, Length: 18, Requests: 19}
}

func frozenCounts() job.Counts {
	return job.Counts{Done: 20, Invalid: 21, Truncated: 22, Refused: 23, Failed: 24, Unmatched: 25}
}

func frozenUsage() job.Usage { return job.Usage{Input: 26, Output: 27, Thinking: 28, Cached: 29} }
