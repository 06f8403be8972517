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
	"log/slog"
	"net"
	"time"

	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// Options describe a run.
type Options struct {
	Operations int
	Seed       uint64  // of all faults
	Faults     string  // none, normal or harsh
	Speed      float64 // every duration is divided by it
	Store      ledger.Store
	Where      string // names the store on the console's pages
	StoreFlag  string // the --store for the commands there; empty: none reaches it
	Operator   string // lets the console act, and is whom it proposes to record; empty: it only reads
	// Publisher is where effects are published; nil: inside the process. If it is set, its messages
	// must be pushed to the server from outside.
	Publisher ledger.Publisher
	// Listen is the address of the functions' server.
	Listen net.Listener
	Log    *slog.Logger
	View   View
	// MaxTime is how long the run may take; 0: DefaultMaxTime.
	MaxTime time.Duration
	// Keep, if not nil, gets the summary and Gemini's URL at the end of the run. Everything then
	// keeps running until the context ends.
	Keep func(s Summary, geminiURL string) error
}

// DefaultMaxTime is enough for 20,000 operations on two cores, or 5,000 on a machine that is busy
// with other work.
const DefaultMaxTime = 10 * time.Minute

// Run makes a run and returns its audit. The error says that the run was impossible or was cut
// short; a Summary that is not clean is no error.
func Run(ctx context.Context, o Options) (Summary, error) {
	began := time.Now()
	faults, err := geminisim.ParseFaults(o.Faults)
	if err != nil {
		return Summary{}, err
	}
	on, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Summary{}, fmt.Errorf("opening a port on loopback: %w", err)
	}
	gemini := StartGemini(geminisim.Config{Seed: o.Seed, Faults: faults, Speed: o.Speed}, on)
	defer gemini.Close()
	receiver := newReceiver(o.Seed, o.Faults)
	sink, err := listenAndServe(receiver)
	if err != nil {
		return Summary{}, err
	}
	defer sink.close()
	submitter, err := newSubmitter(ctx, gemini.URL, "http://"+o.Listen.Addr().String())
	if err != nil {
		return Summary{}, err
	}
	secret, err := gemini.CreateWebhook(ctx, submitter.functions+"/webhook")
	if err != nil {
		return Summary{}, err
	}
	settings, err := settings(o.Speed, secret, gemini.URL, sink.url)
	if err != nil {
		return Summary{}, err
	}
	functions, messages, err := newFunctions(ctx, o, settings)
	if err != nil {
		return Summary{}, err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- functions.Serve(serving, o.Listen) }()
	audit := &audit{
		ledger: functions.Ledger, receiver: receiver, sim: gemini.sim, messages: messages,
		wanted: o.Operations, acked: submitter.acked,
	}
	var ended ending
	if audit.since, err = functions.Ledger.Now(ctx); err == nil {
		// All operations are submitted in the first simulated minutes, so that their ends overlap.
		within := time.Duration(float64(3*time.Minute) / o.Speed)
		ended, err = submitAndWatch(ctx, o, audit, func(ctx context.Context) error {
			return submitter.submit(ctx, o.Operations, within)
		})
	}
	summary := audit.summary(time.Since(began))
	summary.Seed, summary.ending = o.Seed, ended
	o.View.End()
	if err == nil {
		err = o.keepRunning(ctx, summary, gemini.URL)
	}
	stop()
	return summary, errors.Join(err, <-served)
}

// keepRunning calls Keep, if it is set, and waits until ctx ends.
func (o Options) keepRunning(ctx context.Context, s Summary, geminiURL string) error {
	if o.Keep == nil {
		return nil
	}
	if err := o.Keep(s, geminiURL); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// newFunctions makes the server of the functions, whose messages pass an unreliable publisher.
func newFunctions(
	ctx context.Context, o Options, settings server.Settings,
) (functions *server.Server, messages *unreliable, err error) {
	functions, err = server.New(ctx, settings, server.Options{
		Store: o.Store, Now: time.Now, Log: o.Log, Publisher: o.Publisher, Schedule: settings.Ledger.Interval,
		Budget: max(time.Duration(float64(reconcile.DefaultBudget)/o.Speed), minBudget), Workers: effectsAtOnce,
		Console: true, Where: o.Where, StoreFlag: o.StoreFlag, Operator: o.Operator,
		Wrap: func(p ledger.Publisher) ledger.Publisher {
			messages = newUnreliable(p, o.Seed, o.Faults)
			return messages
		},
	})
	return functions, messages, err
}

// Faster returns the settings of functions whose durations are those of production divided by
// speed, down to what a machine can keep. They fit a simulator of that speed.
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

// settings are those of a deployment with every duration divided by speed.
func settings(speed float64, secret, geminiURL, sinkURL string) (server.Settings, error) {
	parsed, err := config.Parse[server.Settings](append(Faster(speed),
		"OPLEDGER_WEBHOOK_SECRET="+secret, "GEMINI_API_KEY="+APIKey, "GOOGLE_GEMINI_BASE_URL="+geminiURL,
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
	))
	if err != nil {
		return server.Settings{}, err
	}
	// A timestamp has whole seconds, and a loaded machine needs some of them.
	parsed.Webhook.Tolerance = max(time.Duration(float64(parsed.Webhook.Tolerance)/speed), minTolerance)
	parsed.Ledger.Effects = []effect.Spec{{
		Name: publishEffect, Do: &effect.DoHTTP{URL: sinkURL}, Concurrency: effectsAtOnce,
		On: []operation.State{operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired},
	}}
	return parsed, nil
}

const (
	minTolerance  = 3 * time.Second
	minClaimTTL   = 15 * time.Second
	minBudget     = 8 * time.Second // Gemini's 429s ask for real seconds
	publishEffect = "publish"
	// effectsAtOnce: their claims and finishes share the fsyncs of the store.
	effectsAtOnce = 32
)
