package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/opledger/opledger/scripts/opledger/local"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
)

// A nightPlan is one job whose requests have many times the tokens that Gemini takes at once.
type nightPlan struct {
	row           jobRow
	quota, told   int64 // of tokens: Gemini's, and what opledger is told of it
	speed         float64
	shortest      time.Duration // of a batch, before speed
	longest       time.Duration
	folder        string
	reserved      float64 // the sum of all samples, as a share of told
	placed        int     // likewise, of batches
	samples, most int
}

// nightModel is the model of the job, as `submit job` is told.
const nightModel = "gemini-3.5-flash"

// runNight plays a night, and prints how much of the quota it used.
func runNight(ctx context.Context, args []string, out io.Writer) (err error) {
	p, err := parseNight(args)
	if err != nil {
		return err
	}
	b, err := newBench(p.folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	input := filepath.Join(b.dir, "input.jsonl")
	if err := writeInput(input, p.row); err != nil {
		return err
	}
	var at account
	b.simulation = simulation{
		RunTime: [2]time.Duration{p.shortest, p.longest}, Speed: p.speed, Quotas: geminisim.Quotas{EnqueuedTokens: p.quota},
	}
	b.variables = append(local.Faster(p.speed), fmt.Sprintf("OPLEDGER_ENQUEUED_TOKENS=%s=%d", nightModel, p.told))
	b.saw = p.saw
	b.after = func(ctx context.Context, gemini string) (err error) {
		at, err = readAccount(ctx, gemini)
		return err
	}
	c, err := b.product(ctx, input, p.row)
	if err != nil {
		return err
	}
	return p.print(out, c, at)
}

// parseNight reads the flags. The error names each one that is wrong.
func parseNight(args []string) (*nightPlan, error) {
	var p nightPlan
	flags := flag.NewFlagSet("load night", flag.ContinueOnError)
	flags.IntVar(&p.row.requests, "requests", 2_000_000, "how many requests the job has")
	flags.IntVar(&p.row.bytes, "bytes", 156, "how many bytes a request has, with its key")
	flags.Int64Var(&p.quota, "quota", 3_000_000, "how many tokens Gemini takes at once")
	flags.Int64Var(&p.told, "told", 0, "how many opledger is told that it takes (default the same)")
	flags.Float64Var(&p.speed, "speed", 200, "divide every duration by this")
	flags.DurationVar(&p.shortest, "shortest", 20*time.Minute, "the least time that a batch runs")
	flags.DurationVar(&p.longest, "longest", time.Hour, "the most time that a batch runs")
	flags.StringVar(&p.folder, "folder", "", "where to write, about 2 KB for each request")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	p.told = cmp.Or(p.told, p.quota)
	var problems []error
	if p.row.requests < 1 || p.row.bytes < leastBytes {
		problems = append(problems, fmt.Errorf("--requests and --bytes: %d and %d are not at least 1 and %d",
			p.row.requests, p.row.bytes, leastBytes))
	}
	if p.quota < 1 || p.told < 1 || p.speed < 1 {
		problems = append(problems, errors.New("--quota, --told and --speed: they must be positive"))
	}
	problems = append(problems, checkRunTime(p.shortest, p.longest))
	if flags.NArg() > 0 {
		problems = append(problems, fmt.Errorf("%q is no flag", flags.Args()))
	}
	return &p, errors.Join(problems...)
}

// saw counts a sample of what runs, if work waits for tokens.
func (p *nightPlan) saw(running ledger.RunningBatches) {
	if len(running.Waiting) == 0 {
		return
	}
	p.samples++
	p.reserved += float64(running.Reserved(nightModel)) / float64(p.told)
	p.placed += len(running.Parts)
	p.most = max(p.most, len(running.Parts))
}

// readAccount reads what a simulator says of itself.
func readAccount(ctx context.Context, gemini string) (a account, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, gemini+accountPath, nil)
	if err != nil {
		return a, fmt.Errorf("making a request: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return a, fmt.Errorf("reading the simulator's account: %w", err)
	}
	err = errors.Join(json.NewDecoder(answer.Body).Decode(&a), answer.Body.Close())
	if err != nil {
		return a, fmt.Errorf("reading the simulator's account: %w", err)
	}
	return a, nil
}

// enqueued returns how many requests Gemini had unfinished in the mean, and for how long, from the first creation of a
// batch to the last: until then work waited.
func (a account) enqueued() (mean float64, waited time.Duration) {
	if len(a.Batches) == 0 {
		return 0, 0
	}
	created := func(a, b geminisim.OperationInfo) int { return a.CreateTime.Compare(b.CreateTime) }
	first, last := slices.MinFunc(a.Batches, created).CreateTime, slices.MaxFunc(a.Batches, created).CreateTime
	for _, b := range a.Batches {
		end := b.EndTime
		if end.IsZero() || end.After(last) {
			end = last
		}
		mean += float64(b.Requests) * end.Sub(b.CreateTime).Seconds()
	}
	waited = last.Sub(first)
	return mean / max(waited.Seconds(), 1e-9), waited
}

// unasked is how many bytes of a line are not its request's.
var unasked = len(fmt.Sprintf(`{"key":%q,"request":}`+"\n", requestKey(0)))

// print prints what came of the night.
func (p *nightPlan) print(out io.Writer, c cost, a account) error {
	each := float64((p.row.bytes - unasked) / 4)
	mean, waited := a.enqueued()
	night := time.Duration(float64(c.elapsed) * p.speed).Round(time.Minute)
	samples := float64(max(p.samples, 1))
	for _, line := range []string{
		fmt.Sprintf("%d requests, %.1f times the %d tokens that Gemini takes at once; opledger is told %d",
			p.row.requests, each*float64(p.row.requests)/float64(p.quota), p.quota, p.told),
		fmt.Sprintf("each request has one result, after %s: %s at a speed of 1", c.elapsed.Round(time.Second), night),
		fmt.Sprintf("while work waited, for %s, Gemini had %.1f %% of its quota enqueued in the mean",
			waited.Round(time.Second), 100*mean*each/float64(p.quota)),
		fmt.Sprintf("of what opledger is told %.1f %% were reserved, by %.1f batches in the mean and %d at most (%d samples)",
			100*p.reserved/samples, float64(p.placed)/samples, p.most, p.samples),
		fmt.Sprintf("%d batches were created, and %d creations or uploads answered 429", len(a.Batches),
			a.Stats.QuotaRefused),
		fmt.Sprintf("serve computed %.1f s and had %d MiB at most; submit job %.1f s and %d MiB",
			c.serve.Seconds(), c.peak>>20, c.submit.Seconds(), c.submits>>20),
	} {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return nil
}
