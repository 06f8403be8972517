package ledgertest

import (
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// at returns different times in the past, so that no two fields can be mistaken for each other.
func at(minutes int) time.Time {
	return time.Date(2026, 11, 22, 12, 0, 0, 123456000, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

// FrozenDocuments returns a document of every kind that the ledger stores, with every field of its
// first release set. They are never changed: a later field goes into Added, and another number gets
// documents and golden files of its own.
func FrozenDocuments() []Frozen {
	return []Frozen{
		{Kind: "operation", Data: frozenRecord(), Added: map[string]string{
			"ConflictAt":      "lasting: another end was refused then; it is absent again once that end is applied",
			"ConflictState":   "lasting: the end that was refused last; it is absent again once that end is applied",
			"ConflictBy":      "lasting: the path of that end, as long as ConflictState is there",
			"CancelRequested": "lasting: an operator decided so; an older revision looks the operation up more rarely",
			"ConflictResolved": "lasting: an operator decided so about these two ends; it counts for no other two, " +
				"whichever an older revision applies or refuses",
			"Incarnation":          "lasting: an id that the record got when it was created",
			"LateAt":               "derived: from dueAt, submittedAt, createdAt, steppedAt, missingAlertedAt and the settings",
			"SteppedAt":            "lasting: a step that a job took; an older revision takes the job for late sooner",
			"TraceParent":          "lasting: what the first submitter said",
			"UnresolvedAt":         "derived: from registered, createdAt and unregisteredResolved",
			"UnregisteredResolved": "lasting: an operator decided so; it counts only while registered is false",
		}},
		{Kind: "delivery", Data: ledger.Delivery{
			Schema: 1, ID: "msg_1", Source: operation.Webhook, Type: "batch.succeeded", Name: "batches/abc-123",
			State: operation.Succeeded, UpdateTime: at(1), ReceivedAt: at(2), Outcome: ledger.Applied,
			Reason: operation.Advanced, Writer: "call-1", ExpireAt: at(3),
		}, Added: map[string]string{"Incarnation": "lasting: that of the record which the event was about"}},
		{Kind: "effect", Data: frozenEffect(1, ledger.ItemProgress{
			Done: 1, Failed: 2, Total: 3, Next: 4, Length: 5, Returned: 8, ReturnedFence: 9, Tries: 10, Chunks: 11,
			Recorded: 12,
		}), Superseded: true}, // it had waiting, positions in the result
		{Kind: "effect", Schema: 2, Data: frozenEffect(2, ledger.ItemProgress{
			Done: 1, Failed: 2, Total: 3, Next: 4, Keys: "0123456789abcdef0123456789abcdef", Length: 5, Returned: 8,
			ReturnedFence: 9, Tries: 10, Chunks: 11, Recorded: 12,
		}), Added: map[string]string{
			"FailingSince": "derived: from failing, state and abandoned",
			"Lost":         "stamped: it counts only while its failures are failing.times, which every failure moves",
		}},
		{Kind: "item", Added: map[string]string{
			"WaitingSince": "lasting: only a revision that writes the number 2 of its effect writes it then, or the item",
		}, Data: ledger.Item{
			Schema: 1, Version: 2, Operation: "batches/abc-123", Effect: "publish", Key: "review-17", Index: 17,
			State: ledger.ItemFailed, IdempotencyKey: "gemini:batches/abc-123#publish/items/review-17", Fence: 3, Attempts: 4,
			Failures: 5, FailingSince: at(1), LastError: "503", LastStatus: 503, LastFailedAt: at(2), FailedAt: at(3),
			Response: `{"text":"<ü>"}`, Error: `{"code":8}`, FetchableUntil: at(4), CreatedAt: at(5), ExpireAt: at(6),
		}},
		{Kind: "job", Schema: 2, Data: frozenJob()},
		{Kind: "part", Schema: 2, Data: frozenPart()},
		{Kind: "batches", Schema: 2, Data: ledger.RunningBatches{
			Schema: 2, Version: 1, Parts: map[string]time.Time{"jobs:nightly:00012": at(1)},
			Tokens:  map[string]ledger.Reservation{"jobs:nightly:00012": {Model: "gemini-3.5-flash", Tokens: 8}},
			Waiting: map[string]time.Time{"jobs:weekly": at(2)},
			Wants: map[string]ledger.Want{"jobs:weekly": {
				For: job.WaitsForTokens, Model: "gemini-3.5-flash", Tokens: 9, Priority: 10, Most: 11,
			}},
			Models: map[string]ledger.ModelQuota{"gemini-3.5-flash": {
				RefusedAt: at(4), IdleAt: at(5), PerBatch: 12, HalvedAt: at(6),
			}},
			Held: map[string]job.Hold{"jobs:nightly": {
				Reason: job.HeldByPilot, Decided: operation.Decided{At: at(7), By: "opledger", Why: "a test"},
				Alerted: true,
			}},
			Unmatched: map[string]ledger.Unmatched{"jobs:evening": {
				Lines: 13, Storage: "gs://bucket/jobs", Object: "evening/unmatched.jsonl", EndedAt: at(2),
			}},
			Others: 7, ListedAt: at(3),
		}},
		{Kind: "intent", Data: ledger.Intent{
			Schema: 1, Version: 2, Submission: frozenSubmission(), State: ledger.IntentBound, Operation: "batches/abc-123",
			BoundBy:    ledger.BySubmitter,
			Collection: operation.Batches, CreatedAt: at(1), RenewedAt: at(2), GiveUpAt: at(3), AbandonedAt: at(4),
			Names:  []ledger.KeptName{{Key: "operations/x", Name: "models/veo/operations/x", At: at(5)}},
			Writer: "call-1", DueAt: at(6), ExpireAt: at(7),
		}, Added: map[string]string{
			"Abandoned":   "lasting: an operator decided then; it counts until a submitter's next attempt",
			"Attempt":     "stamped: with AttemptedAt, which an older revision moves when it renews the intent",
			"TraceParent": "lasting: what the first submitter said",
		}},
		{Kind: "quarantine", Data: ledger.Quarantined{
			Schema: 1, ID: "msg_1", Reason: "malformed", Detail: "no name", Type: "batch.odd",
			Headers: map[string]string{"webhook-id": "msg_1"}, Body: []byte{0x1f, 0x8b, 8}, Parts: 2, ReceivedAt: at(1),
			RetriedAt: at(2), Outcome: ledger.Applied, ExpireAt: at(3),
		}, Added: map[string]string{
			"UnresolvedAt": "derived: from reason, outcome, resolved and receivedAt",
			"Resolved":     "lasting: an operator decided so",
		}},
		{Kind: "part", Data: ledger.QuarantinedPart{Body: []byte{1, 0xff}, ExpireAt: at(1)}},
		{Kind: "marks", Data: frozenMarks(), Added: map[string]string{
			"SecretFitsAt": secretFitted, "NoWebhookAt": hadNoWebhook,
			"Last":      "lasting: a pass ended then; an older revision's passes leave it, or remove it with the last mark",
			"EnabledAt": seenEnabled,
			"Scans":     beganAt, "Unanswered": answeredNone, "WrongSecret": signedByAnother,
		}},
		// the same document, since its passes report how they end
		{Kind: "pass", Data: frozenPass(), Added: map[string]string{
			"SecretFitsAt": secretFitted, "NoWebhookAt": hadNoWebhook,
			"EnabledAt": seenEnabled, "Scans": beganAt, "Unanswered": answeredNone, "WrongSecret": signedByAnother,
		}},
		{Kind: "refusals", Data: ledger.Refusals{
			Schema: 1, Version: 2, Count: 20, Reason: "signature", FirstAt: at(1), LastAt: at(2), AcceptedAt: at(3),
		}},
		{Kind: "settings", Data: ledger.StoredSettings{
			Schema: 1, Version: 2, Digest: "9f86d081", Rules: []ledger.Rule{{
				Name: "publish", On: []operation.State{operation.Succeeded}, Alerts: []ledger.Alert{ledger.AlertStuck},
				JobKinds: []string{"nightly-*"},
			}},
			Values: map[string]string{"OPLEDGER_RETENTION": "336h0m0s"}, StoredBy: "serve", StoredAt: at(1),
		}, Added: map[string]string{
			"LeftOut": "lasting: a start was without the effect then; where an older revision has it again, that is known " +
				"from the rules",
		}},
	}
}

// seenEnabled says why an older revision does no harm to a webhook's EnabledAt.
const seenEnabled = "lasting: Gemini had the webhook enabled then; without a later time an alert waits for AlertEvery"

// beganAt says why an older revision does no harm to where passes begin to read.
const beganAt = "stamped: with the version; after an older revision's write a pass reads from the beginning"

// answeredNone says why an older revision does no harm to the look-ups that Gemini did not answer.
const answeredNone = "stamped: with the version; after an older revision's write the next pass says it again"

// signedByAnother says why an older revision does no harm to the secret that the webhook does not know.
const signedByAnother = "stamped: with the version; after an older revision's write the next pass says it again"

// hadNoWebhook says why an older revision does no harm to when Gemini was found to have no webhook.
const hadNoWebhook = "stamped: with the last pass; after an older revision's pass it does not count"

// secretFitted says why an older revision does no harm to when the webhook was found to have Gemini's secret.
const secretFitted = "lasting: a pass found so then; only what was refused before is judged by it"

func frozenMarks() ledger.Marks {
	return ledger.Marks{Schema: 1, Version: 2, Marks: []ledger.Mark{{
		Pass: "pass-1", Start: at(1), Until: at(2), Moved: []ledger.LookedUp{{Key: "batches/abc-123", Attempts: 3}},
	}}}
}

func frozenPass() ledger.Marks {
	marks := frozenMarks()
	marks.Last = &ledger.Pass{
		Began: at(3), Ended: at(4), Outcome: ledger.PassErrors, Due: 1, Checked: 2, Settled: 3, Requeued: 4, Errors: 5,
		Newer: 6, Error: "503", Webhook: ledger.WebhookEnabled, Effects: ledger.EffectsPaused,
	}
	return marks
}

func frozenSubmission() operation.Submission {
	return operation.Submission{
		CorrelationID: "nightly-1", JobKind: "nightly", Metadata: `{"user":{"id":7,"none":null}}`,
	}
}

func frozenRecord() operation.Record {
	return operation.Record{
		Schema: 1, Version: 2, Key: "batches/abc-123", Collection: operation.Batches, Name: "projects/p/batches/abc-123",
		Submission: frozenSubmission(), State: operation.Succeeded, UpdateTime: at(1), Registered: true, CreatedAt: at(2),
		SubmittedAt: at(3), SettledAt: at(4), SettledBy: operation.Reconcile, LookUps: 5,
		Result: operation.Result{
			OutputFile: "files/out", Inline: true, ErrorCode: "13", ErrorMessage: "internal",
			Counts: &operation.Counts{Total: 10, Succeeded: 7, Failed: 2, Pending: 1},
		},
		Effects:    map[string]operation.EffectStatus{"publish": operation.EffectDead, "page@stuck-1": operation.EffectDone},
		DeadEffect: true, Progress: map[string]operation.Progress{"publish": {Done: 6, Failed: 3, Total: 9}},
		ProgressAt: at(5), StuckSince: at(6), AlertedAt: at(7), Condition: "rate-limited", ConditionSince: at(8),
		MissingSince: at(9), MissingAlertedAt: at(10),
		Abandoned: &operation.Decided{At: at(11), By: "ops", Why: "lost"}, DueAt: at(12), ExpireAt: at(13),
	}
}

func frozenEffect(schema int, progress ledger.ItemProgress) ledger.Effect {
	return ledger.Effect{
		Schema: schema, Version: 2, Operation: "batches/abc-123", Name: "publish", State: ledger.EffectDead,
		IdempotencyKey: "gemini:batches/abc-123#publish", Payload: `{"operation":"batches/abc-123"}`, Fence: 3,
		Owner: "call-1", Attempts: 4, Interrupted: 5,
		Failing:   &ledger.Failing{Since: at(1), Last: at(2), Times: 6, AlertedAt: at(3)},
		LastError: "503",
		History: []ledger.Attempt{{
			Fence: 3, Began: at(4), Ended: at(5), Outcome: ledger.AttemptFailed, Status: 503, Error: "unavailable",
		}},
		Abandoned: &operation.Decided{At: at(6), By: "ops", Why: "not needed"},
		Recovered: &ledger.Recovery{At: at(7), By: "ops"},
		Replays:   []ledger.Replay{{Message: "m-1", By: "ops", At: at(8), LastError: "500", Writer: "call-2"}},
		Rerun:     "fix-1", Runs: 7, WithoutRecord: true,
		Progress:  &progress,
		CreatedAt: at(9), DoneAt: at(10), DiedAt: at(11), ClaimableAt: at(12), DueAt: at(13), Unanswered: 14,
		ExpireAt: at(15),
	}
}
