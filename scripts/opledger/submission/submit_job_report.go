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

// A jobJSON is what became of a submission as JSON.
type jobJSON struct {
	Job     progress.Progress `json:"job"`
	Created bool              `json:"created"`
	Batches int               `json:"batches"` // of the first round
}

func printSubmitted(outside terminal.Environment, p progress.Progress, created bool, batches int) error {
	became := "accepted"
	if !created {
		became = "known, " + phrase.JobState(p)
	}
	return outside.Print(jobJSON{p, created, batches}, "%s; %s", size(p.Key, p.Input.Requests, batches, p.Input.Tokens),
		became)
}

// size says how large a job is.
func size(key operation.Key, requests int64, batches int, tokens int64) string {
	return fmt.Sprintf("%s: %s, %s, %s", key, phrase.Amount(requests, "request"),
		phrase.Amount(int64(batches), "batch"), phrase.EstimatedTokens(tokens))
}

// A dryRunJSON is what would be sent as JSON.
type dryRunJSON struct {
	Job      operation.Key `json:"job"`
	Requests int64         `json:"requests"`
	Bytes    int64         `json:"bytes"`
	Tokens   int64         `json:"tokens"` // estimated
	SHA256   string        `json:"sha256"`
	Batches  int           `json:"batches"` // of the first round
	MostSent int64         `json:"mostSent"`
}

func printDryRun(outside terminal.Environment, request ledger.JobRequest, s job.Summary) error {
	sent := s.Requests * int64(request.Options.MaxAttempts)
	return outside.Print(
		dryRunJSON{request.Key, s.Requests, s.Bytes, s.Tokens, s.SHA256, len(s.Batches), sent},
		"%s, %s; nothing was created\nit would send at most %s: each at most %s",
		size(request.Key, s.Requests, len(s.Batches), s.Tokens), phrase.Bytes(s.Bytes), phrase.Amount(sent, "request"),
		phrase.Counted(request.Options.MaxAttempts, "time"))
}
