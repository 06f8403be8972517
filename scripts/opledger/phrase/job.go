package phrase

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/operation"
)

// Tokens is a number of tokens, of a million or more in millions: "46.2 M tokens".
func Tokens(n int64) string {
	if n < 1_000_000 {
		return Amount(n, "token")
	}
	return fmt.Sprintf("%.1f M tokens", float64(n)/1e6)
}

// EstimatedTokens is an estimate: "about 31 million input tokens".
func EstimatedTokens(n int64) string {
	switch {
	case n >= 10_000_000:
		return "about " + Number((n+500_000)/1_000_000) + " million input tokens"
	case n >= 1_000_000:
		return fmt.Sprintf("about %.1f million input tokens", float64(n)/1e6)
	case n >= 10_000:
		return "about " + Number((n+500)/1000*1000) + " input tokens"
	default:
		return "about " + Amount(n, "input token")
	}
}

// Dollars is an amount of money: "$1,234.50", and below a cent "less than $0.01".
func Dollars(amount float64) string {
	if amount > 0 && amount < 0.01 {
		return "less than $0.01"
	}
	return "$" + humanize.FormatFloat("#,###.##", amount)
}

// AboutDollars is an estimate: "about $1,234.50", and below a cent "less than $0.01".
func AboutDollars(amount float64) string {
	if amount > 0 && amount < 0.01 {
		return Dollars(amount)
	}
	return "about " + Dollars(amount)
}

// EstimatedCost says what a job will cost, as far as that is known before it runs.
func EstimatedCost(p job.Price, requests, inputTokens int64) string {
	const output = 100
	return fmt.Sprintf("estimated: %s for the input, and %s for each %d tokens of output per request, thinking included; "+
		"what is sent again is paid again", Dollars(p.Cost(job.Usage{Input: inputTokens})),
		Dollars(p.Cost(job.Usage{Output: output * requests})), output)
}

// Bytes is a size, such as "1.2 GB".
func Bytes(n int64) string {
	if n < 1000 {
		return Amount(n, "byte")
	}
	size, unit := float64(n)/1000, 0
	for size >= 999.95 && unit < 3 {
		size, unit = size/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", size, "kMGT"[unit])
}

// Progress says how far a job is, in one line: "batches 3 of 12, round 1 of 3 · done 29,871 · open 90,129". The command
// that it may name ends with store, as StoreFlag makes it; so do those of the other phrases that take one.
func Progress(p progress.Progress, store string) string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch {
	case p.Phase == job.Splitting:
		add("the input is cut into batches, %s so far", Number(int64(p.Batches.Total)))
	case p.Ended() && p.Batches.Done < p.Batches.Total:
		add("batches %s, and %s refused, released or not started; round %d of %d", Number(int64(p.Batches.Done)),
			Number(int64(p.Batches.Total-p.Batches.Done)), p.Round, p.Options.MaxAttempts)
	default:
		add("batches %s of %s, round %d of %d", Number(int64(p.Batches.Done)), Number(int64(p.Batches.Total)), p.Round,
			p.Options.MaxAttempts)
	}
	add("done %s", Number(p.Counts.Done))
	for _, outcome := range []job.Outcome{
		job.OutcomeRefused, job.OutcomeFailed, job.OutcomeInvalid, job.OutcomeTruncated,
	} {
		if n := p.Counts.Of(outcome); n > 0 {
			add("%s %s", outcome, Number(n))
		}
	}
	add("open %s", Number(p.Open))
	if tokens := p.Usage.Total(); tokens > 0 {
		add("%s", Tokens(tokens))
	}
	if p.EstimatedCost > 0 {
		add("%s", AboutDollars(p.EstimatedCost))
	}
	return strings.Join(append(words, standing(p, store)...), " · ")
}

// standing says what a job does or waits for that its numbers do not say.
func standing(p progress.Progress, store string) (words []string) {
	if p.Ended() {
		return nil
	}
	if p.Phase == job.Finishing || p.Phase == job.Ended {
		words = append(words, "the results are merged")
	}
	if p.Cancelled != nil {
		words = append(words, "it is being cancelled")
	}
	if !p.DeadlineReached.IsZero() && p.Cancelled == nil {
		words = append(words, "its deadline was reached: what runs is being cancelled")
	}
	if p.Stopped != "" {
		words = append(words, "stopped: "+Safe(p.Stopped))
	}
	if p.Hold != nil {
		words = append(words, Held(p.Key, p.Hold, store))
	}
	if w := p.Waiting; w != nil && (p.Hold == nil || w.Reason != job.WaitsForResume) {
		words = append(words, "waits for "+WaitsFor(w.Reason)+Used(w)+" since "+LocalTime(w.Since))
	}
	return words
}

// HeldBy says why a job starts nothing, since when, by whom and for what.
func HeldBy(h *job.Hold) string { return Safe(string(h.Reason)) + " " + Abandoned(&h.Decided) }

// Held is HeldBy with what lets the job go on.
func Held(key operation.Key, h *job.Hold, store string) string {
	return HeldBy(h) + "; " + GoesOn(key, h.Reason, store)
}

// GoesOn says what lets a job go on that is held.
func GoesOn(key operation.Key, held job.HoldReason, store string) string {
	name := ShellWord(string(key))
	resume := "opledger resume " + name + " --reason TEXT" + store + " lets it go on"
	switch held {
	case job.HeldByCost:
		return "opledger change " + name + " --max-cost DOLLARS --reason TEXT" + store + " lets it go on"
	case job.HeldByReferences:
		return resume + ", without the requests of what is missing then"
	default:
		return resume
	}
}

// Changed says what was changed of a job's options while it ran, when, by whom and why.
func Changed(c job.Change) string { return Safe(c.What) + ", " + Abandoned(&c.Decided) }

// Pilot says what waits for the pilot of a job.
func Pilot(p progress.Progress) string {
	return fmt.Sprintf("the first %s run before the others, which start if at most %s of them are not done",
		Amount(p.Pilot, "request"), Safe(string(p.Options.PilotFailures)))
}

// NotDone says what became of a request that was not done.
func NotDone(f job.Failure) string {
	words := Safe(f.Key) + ": " + Safe(string(f.Outcome))
	if f.Why != "" {
		words += ", " + Safe(f.Why)
	}
	return words
}

// waitsFor names what the start of a batch waits for.
var waitsFor = map[job.Wait]string{
	job.WaitsForQuota:   "Gemini's quota",
	job.WaitsForAccess:  "an API key that Gemini accepts",
	job.WaitsForIntent:  "certainty whether its batch was created",
	job.WaitsForGemini:  "Gemini, which fails or cannot be reached",
	job.WaitsForStorage: "room in Gemini's storage of files",
	job.WaitsForBatch:   "a free batch",
	job.WaitsForTokens:  "free tokens of its model's quota",
	job.WaitsForResume:  "someone to resume the job",
}

// WaitsFor names what the start of a batch waits for; a dash where it waits for nothing.
func WaitsFor(w job.Wait) string { return cmp.Or(waitsFor[w], Safe(string(w))) }

// Redriven says which requests of a job another one has, and by whose decision.
func Redriven(r job.Redrive) string {
	return strings.Join(diag.Texts(r.Outcomes), ", ") + "; " + Abandoned(&r.Decided)
}

// Used are the numbers of what the next batch lacks: " (2.9 M tokens of gemini-3.5-flash are reserved, of 3.0 M tokens;
// the next batch has about 300,000 tokens)"; empty where a part waits for something else.
func Used(w *progress.Waiting) string {
	switch w.Reason {
	case job.WaitsForBatch:
		return fmt.Sprintf(" (%s run of all jobs, of at most %s)", Amount(w.Used, "batch"), Number(w.Most))
	case job.WaitsForTokens:
		return fmt.Sprintf(" (%s of %s are reserved, of %s; the next batch has about %s)", Tokens(w.Used), Safe(w.Model),
			Tokens(w.Most), Tokens(w.Tokens))
	default:
		return ""
	}
}

// JobState is a job's state in one word: how far it is while its record is PENDING.
func JobState(p progress.Progress) string {
	if p.Ended() {
		return string(p.State)
	}
	return string(p.Phase)
}

// Unmatched says how many lines of a job's results are the answer to no request, what that means, and where they are;
// empty: none is.
func Unmatched(p progress.Progress, store string) string {
	if p.Counts.Unmatched == 0 {
		return ""
	}
	where := "opledger results " + ShellWord(string(p.Key)) + " --kind unmatched" + store + " prints those so far"
	if o := p.Output.Unmatched; o.Name != "" {
		where = "they are in " + Safe(p.Storage+"/"+o.Name)
	}
	return Amount(p.Counts.Unmatched, "line") + " of Gemini's results with a key that was not sent, or that came twice: " +
		"no request has its answer from them; " + where
}
