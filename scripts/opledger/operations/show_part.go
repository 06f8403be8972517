package operations

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A partJSON is a part of a job as JSON, with its steps. That of its collect is one of its batch.
type partJSON struct {
	Part    job.Part     `json:"part"`
	Effects []effectJSON `json:"effects"`
}

// showPart prints a part of a job.
func showPart(
	ctx context.Context, w io.Writer, l *ledger.Ledger, key operation.Key, v phrase.EffectView, asJSON bool,
) error {
	p, _, err := l.Jobs.Part(ctx, key)
	if err != nil {
		return err
	}
	story, err := l.Operations.Show(ctx, key)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) { // it has no effects yet
		return err
	}
	if asJSON {
		return terminal.PrintJSON(w, partJSON{p.Part, newStoryJSON(story, v, jobView{}).Effects})
	}
	if v.Now, err = l.Now(ctx); err != nil {
		return err
	}
	out := terminal.NewTable(w)
	partLines(out, p.Part)
	out.Realign()
	effectTable(out, story.Effects, v)
	if p.Batch != "" {
		out.Line("\nopledger show " + v.Operation(p.Batch) + " shows its batch, with the collect")
	}
	return out.End()
}

// partLines prints what is recorded of a part.
func partLines(out *terminal.Table, p job.Part) {
	out.Line(p.Key, p.State)
	out.Line("  requests", fmt.Sprintf("%s, %s", phrase.Number(p.Requests), phrase.Bytes(p.Bytes)))
	out.Line("  round", p.Round)
	if p.Root > 0 {
		out.Line("  piece of", operation.PartKey(jobOf(p), p.Root))
	}
	out.Line("  created", p.CreatedAt)
	out.Line("  batch", phrase.Safe(string(p.Batch)))
	out.Line("  creations", p.Creations)
	if n := len(p.Files); n > 0 {
		out.Line("  file at Gemini", fmt.Sprintf("%s until %s", phrase.Safe(p.Files[n-1].Name),
			phrase.LocalTime(p.Files[n-1].ExpiresAt)))
	}
	if p.Waits != "" {
		out.Line("  waits for", phrase.WaitsFor(p.Waits)+" since "+phrase.LocalTime(p.WaitsSince))
	}
	out.Field("  problem", p.Problem)
	out.Field("  released", phrase.Abandoned(p.Released))
	for _, n := range []struct {
		label string
		n     int64
	}{
		{"  done", p.Counts.Done}, {"  refused", p.Counts.Refused}, {"  failed", p.Counts.Failed},
		{"  invalid", p.Counts.Invalid}, {"  truncated", p.Counts.Truncated}, {"  unmatched", p.Counts.Unmatched},
		{"  to be sent again", again(p)},
	} {
		if n.n > 0 {
			out.Line(n.label, phrase.Number(n.n))
		}
	}
	if tokens := p.Usage.Total(); tokens > 0 {
		out.Line("  usage", phrase.Tokens(tokens))
	}
}

func again(p job.Part) int64 {
	requests, _ := job.Total(p.Again)
	return requests
}

func jobOf(p job.Part) operation.Key {
	of, _, _ := operation.ParsePart(string(p.Key))
	return of
}
