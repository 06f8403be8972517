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

func printSubmitted(outside terminal.Environment, p progress.Progress, created bool, s job.Summary) error {
	became := "accepted"
	if !created {
		became = "known, " + phrase.JobState(p)
	}
	if at := p.Options.Deadline; !at.IsZero() {
		became += ", until " + phrase.LocalTime(at)
	}
	batches := len(s.Batches)
	return outside.Print(map[string]any{"job": p, "created": created, "batches": batches}, "%s; %s%s%s",
		size(p.Key, p.Input.Requests, batches, p.Input.Tokens), became, smallPilot(p.Options, s),
		estimate(p.Price, p.Input.Requests, p.Input.Tokens))
}

// smallPilot is the line that says that the pilot has fewer requests than were asked for; empty where it has not.
func smallPilot(o job.Options, s job.Summary) string {
	if len(s.Batches) == 0 || s.Batches[0].Requests >= min(o.Pilot, s.Requests) {
		return ""
	}
	return fmt.Sprintf("\nthe pilot has %s, not %s: no more fit into one batch, by --max-bytes-per-batch or "+
		"OPLEDGER_ENQUEUED_TOKENS", phrase.Amount(s.Batches[0].Requests, "request"), phrase.Number(o.Pilot))
}

// size says how large a job is.
func size(key operation.Key, requests int64, batches int, tokens int64) string {
	return fmt.Sprintf("%s: %s, %s, %s", key, phrase.Amount(requests, "request"),
		phrase.Amount(int64(batches), "batch"), phrase.EstimatedTokens(tokens))
}

// estimate is the line that says what a job will cost; empty where there is no price.
func estimate(price *job.Price, requests, tokens int64) string {
	if price == nil {
		return ""
	}
	return "\n" + phrase.EstimatedCost(*price, requests, tokens)
}

func printDryRun(
	outside terminal.Environment, request ledger.JobRequest, s job.Summary, price *job.Price,
) error {
	pilot := ""
	if o := request.Options.WithDefaults(); o.Pilot > 0 {
		pilot = fmt.Sprintf("\nfirst %s; the rest if at most %s of them are not done",
			phrase.Amount(s.Batches[0].Requests, "request"), phrase.Safe(string(o.PilotFailures))) + smallPilot(o, s)
	}
	sent := s.Requests * int64(request.Options.MaxAttempts)
	return outside.Print(map[string]any{
		"job": request.Key, "requests": s.Requests, "bytes": s.Bytes, "tokens": s.Tokens, "sha256": s.SHA256,
		"batches": len(s.Batches), "mostSent": sent, "price": price,
	},
		"%s, %s; nothing was created\nit would send at most %s: each at most %s%s%s",
		size(request.Key, s.Requests, len(s.Batches), s.Tokens), phrase.Bytes(s.Bytes), phrase.Amount(sent, "request"),
		phrase.Counted(request.Options.MaxAttempts, "time"), pilot,
		estimate(price, s.Requests, s.Tokens))
}
