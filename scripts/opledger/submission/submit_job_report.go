package submission

import (
	"fmt"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func printSubmitted(outside terminal.Environment, p progress.Progress, created bool, batches int) error {
	became := "accepted"
	if !created {
		became = "known, " + phrase.JobState(p)
	}
	if at := p.Options.Deadline; !at.IsZero() {
		became += ", until " + phrase.LocalTime(at)
	}
	return outside.Print(map[string]any{"job": p, "created": created, "batches": batches}, "%s; %s",
		size(p.Key, p.Input.Requests, batches, p.Input.Tokens), became)
}

// size says how large a job is.
func size(key operation.Key, requests int64, batches int, tokens int64) string {
	return fmt.Sprintf("%s: %s, %s, %s", key, phrase.Amount(requests, "request"),
		phrase.Amount(int64(batches), "batch"), phrase.EstimatedTokens(tokens))
}

func printDryRun(outside terminal.Environment, request ledger.JobRequest, s job.Summary) error {
	sent := s.Requests * int64(request.Options.MaxAttempts)
	return outside.Print(map[string]any{
		"job": request.Key, "requests": s.Requests, "bytes": s.Bytes, "tokens": s.Tokens, "sha256": s.SHA256,
		"batches": len(s.Batches), "mostSent": sent,
	},
		"%s, %s; nothing was created\nit would send at most %s: each at most %s",
		size(request.Key, s.Requests, len(s.Batches), s.Tokens), phrase.Bytes(s.Bytes), phrase.Amount(sent, "request"),
		phrase.Counted(request.Options.MaxAttempts, "time"))
}
