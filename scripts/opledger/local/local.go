// Package local runs everything on one machine: a simulated Gemini that loses, repeats, reorders
// and delays deliveries, a receiver of side effects, the four functions between them, and an audit
// of the outcome.
//
// Batches are submitted and looked up through the real SDK, and deliveries are signed and sent over
// HTTP. Only the durations are shorter than in production.
package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/shared/storage"
)

// Options describe a run.
type Options struct {
	Operations int
	Jobs       Jobs
	Seed       uint64  // of all faults
	Faults     string  // none, normal or harsh
	Speed      float64 // every duration is divided by it
	View       View
	// Functions is the URL that the functions are served on, and Make makes them. Nothing is asked
	// of them before serve is called. serve returns when its context has ended and they have, too.
	Functions string
	Make      func(context.Context, Deployment) (l *ledger.Ledger, serve func(context.Context) error, err error)
	// MaxTime is how long the run may take; 0: DefaultMaxTime.
	MaxTime time.Duration
	// Ended, if not nil, gets the summary and Gemini's URL at the end of the run. Everything keeps
	// running until it returns.
	Ended func(s Summary, geminiURL string) error
}

// A Deployment is what the functions of a run are to be.
type Deployment struct {
	// Variables are the settings, as they stand in an environment.
	Variables []string
	// Budget is how long a reconcile pass may take, and Workers how many effects run at once.
	Budget  time.Duration
	Workers int
	// Unreliable makes the publisher of effects lose and repeat messages. Run refuses functions
	// that were made without it.
	Unreliable func(ledger.Publisher) ledger.Publisher
}

// DefaultMaxTime is enough for 20,000 operations on two cores, or 5,000 on a machine that is busy
// with other work.
const DefaultMaxTime = 10 * time.Minute

// errReliable: the audit would count no lost or repeated message, as though none could be.
var errReliable = errors.New("the functions of the run publish their effects without Deployment.Unreliable")

// Run makes a run and returns its audit. The error says that the run was impossible or was cut
// short; a Summary that is not clean is no error.
func Run(ctx context.Context, o Options) (Summary, error) {
	faults, err := geminisim.ParseFaults(o.Faults)
	if err != nil {
		return Summary{}, err
	}
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Summary{}, fmt.Errorf("opening a port on loopback: %w", err)
	}
	uploads, err := os.MkdirTemp("", "opledger-uploads-")
	if err != nil {
		return Summary{}, errors.Join(fmt.Errorf("making a folder for uploads: %w", err), on.Close())
	}
	defer os.RemoveAll(uploads) //nolint:errcheck // it is in the folder for temporary files
	gemini := StartGemini(geminisim.Config{
		Seed: o.Seed, Faults: faults, Speed: o.Speed, Folder: uploads, CountKeys: o.Jobs.Count > 0,
	}, on)
	defer gemini.Close()
	receiver := newReceiver(o.Seed, o.Faults)
	sink, err := listenAndServe(receiver)
	if err != nil {
		return Summary{}, err
	}
	defer sink.close()
	submitter, err := newSubmitter(ctx, gemini.URL, o.Functions)
	if err != nil {
		return Summary{}, err
	}
	secret, err := gemini.CreateWebhook(ctx, o.Functions+"/webhook")
	if err != nil {
		return Summary{}, err
	}
	messages := newUnreliable(o.Seed, o.Faults)
	deployment, err := o.deployment(secret, gemini.URL, sink.url, messages)
	if err != nil {
		return Summary{}, err
	}
	jobs, err := storage.Open(o.Jobs.Storage, o.Jobs.StorageEmulator)
	if err != nil {
		return Summary{}, fmt.Errorf("opening the job storage: %w", err)
	}
	l, serve, err := o.Make(ctx, deployment)
	if err == nil && messages.next == nil {
		err = errReliable
	}
	if err != nil {
		return Summary{}, err
	}
	serving, stop := context.WithCancel(ctx)
	context.AfterFunc(serving, gemini.Stop)
	served := make(chan error, 1)
	go func() { served <- serve(serving) }()
	summary, err := o.play(ctx, submitter, &audit{
		ledger: l, receiver: receiver, sim: gemini.sim, messages: messages, wanted: o.Operations, acked: submitter.acked,
		wantedJobs: o.Jobs.of(o.Seed), storage: jobs,
	})
	if err == nil && o.Ended != nil {
		err = o.Ended(summary, gemini.URL)
	}
	stop()
	return summary, errors.Join(err, <-served)
}

// play submits the operations to functions that are served, and audits what becomes of them.
func (o Options) play(ctx context.Context, submitter *submitter, audit *audit) (summary Summary, err error) {
	began := time.Now()
	var ended ending
	if audit.since, err = audit.ledger.Now(ctx); err == nil {
		// All operations are submitted in the first simulated minutes, so that they overlap.
		within := time.Duration(float64(3*time.Minute) / o.Speed)
		ended, err = submitAndWatch(ctx, o, audit, func(ctx context.Context) error {
			return errors.Join(o.submitJobs(ctx, audit), submitter.submit(ctx, o.Operations, within))
		})
	}
	summary = audit.summary(time.Since(began))
	if err == nil {
		summary.JobSummary, err = audit.auditJobs(ctx)
	}
	summary.Seed, summary.ending = o.Seed, ended
	o.View.End()
	return summary, err
}

// Faster returns the settings of functions whose durations are those of production divided by
// speed, down to what a machine can keep. They fit a simulator of that speed, whose batches take no
// longer than its videos.
func Faster(speed float64) []string {
	d := ledger.DefaultSettings()
	divided := func(d time.Duration) time.Duration { return time.Duration(float64(d) / speed) }
	return []string{
		"OPLEDGER_GRACE=" + divided(d.Grace).String(),
		"OPLEDGER_INTERVAL=" + divided(d.Interval).String(),
		"OPLEDGER_STUCK_AFTER=" + divided(d.StuckAfter).String(),
		"OPLEDGER_ALERT_EVERY=" + divided(d.AlertEvery).String(),
		// Effects take real time: a lease that runs out while the machine stalls would cause a
		// repeat without a fault.
		"OPLEDGER_CLAIM_TTL=" + max(divided(d.ClaimTTL), minClaimTTL).String(),
	}
}

// deployment returns settings with every duration divided by the run's speed, and one effect: it
// posts every completion to sinkURL, and its messages pass through messages.
func (o Options) deployment(secret, geminiURL, sinkURL string, messages *unreliable) (Deployment, error) {
	variables := append(Faster(o.Speed),
		"OPLEDGER_WEBHOOK_SECRET="+secret, "GEMINI_API_KEY="+APIKey, "GOOGLE_GEMINI_BASE_URL="+geminiURL,
		"OPLEDGER_JOB_STORAGE="+o.Jobs.Storage,
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		fmt.Sprintf("OPLEDGER_EFFECTS=[{name: %s, on: [SUCCEEDED, FAILED, CANCELLED, EXPIRED], do: http, url: %q, "+
			"concurrency: %d}]", publishEffect, sinkURL, effectsAtOnce),
	)
	usual, err := config.Parse[struct{ Webhook config.Webhook }](variables)
	if err != nil {
		return Deployment{}, fmt.Errorf("dividing the settings by the speed: %w", err)
	}
	// A timestamp has whole seconds, and a loaded machine needs some of them.
	tolerance := max(time.Duration(float64(usual.Webhook.Tolerance)/o.Speed), minTolerance)
	return Deployment{
		Variables:  append(variables, "OPLEDGER_TOLERANCE="+tolerance.String()),
		Budget:     max(time.Duration(float64(reconcile.DefaultBudget)/o.Speed), minBudget),
		Workers:    effectsAtOnce,
		Unreliable: messages.before,
	}, nil
}

const (
	minTolerance  = 3 * time.Second
	minClaimTTL   = 15 * time.Second
	minBudget     = 8 * time.Second // Gemini's 429s ask for real seconds
	publishEffect = "publish"
	// effectsAtOnce: their claims and finishes share the fsyncs of the store.
	effectsAtOnce = 32
)
