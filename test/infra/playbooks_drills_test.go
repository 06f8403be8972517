package infra_test

import (
	"net/http"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func drills() []drill {
	return slices.Concat(drillsOfPasses, drillsOfOperations, drillsOfWebhook, drillsOfEffects, drillsOfJobs,
		drillsOfPlatform, drillsOfServe())
}

// done plans the effects of an operation that ended, and returns its name.
func (o *oncall) done(name string, state operation.State) string {
	o.Helper()
	n := o.registered(o.named(name))
	o.end(n, state)
	return string(n.Key)
}

// answers makes the receiver of effects answer with a status.
func (o *oncall) answers(status int) { o.answer.Store(int32(status)) }

// pause sets the pause of effects, as a deployment does.
func (o *oncall) pause(paused string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, function := range []string{"effects", "reconcile"} {
		o.settings[function]["OPLEDGER_EFFECTS_PAUSED"] = paused
	}
}

// pauseOf is what a function is told of the pause. The caller holds mu.
func (o *oncall) pauseOf(function string) ledger.Pause {
	return ledger.PauseOf(o.settings[function]["OPLEDGER_EFFECTS_PAUSED"] == "true")
}

// pauseIsKnown makes a pass, and checks that it stores the pause that Effects has.
func (o *oncall) pauseIsKnown(after string) {
	o.Helper()
	o.tick()
	last, _, err := o.ledger.Passes.Last(o.Context())
	o.mu.Lock()
	defer o.mu.Unlock()
	if want := o.pauseOf("effects"); err != nil || last.Effects != want {
		o.Errorf("the pass stores that effects are %s, %v; they are %s, after\n%s", last.Effects, err, want, after)
	}
}

// running makes a batch at Gemini and registers it.
func (o *oncall) running(label string) string {
	o.Helper()
	return string(o.registered(o.batch(label, geminisim.StateRunning)).Key)
}

var drillsOfPasses = []drill{
	{
		playbook: "reconcile-absent", about: "the job was paused", signal: "passes",
		trouble: func(o *oncall, _ *shell) { o.paused = true; o.tick() },
		sees:    []string{"PAUSED"}, fix: []string{"jobs resume"},
		after: (*oncall).tick, over: []string{"ENABLED", "0"},
	},
	{
		playbook: "schedule-failing", about: "the scheduler may not call Reconcile",
		trouble: func(o *oncall, _ *shell) {
			o.revoke("run opledger-reconcile", "roles/run.invoker", member("scheduler"))
			o.tick()
		},
		sees: []string{"1 PERMISSION_DENIED\tOriginal HTTP response code number = 403", "ENABLED\t2026-11-21T12:00:00Z\t7"},
		fix:  []string{"add-iam-policy-binding"}, after: (*oncall).tick, over: []string{"\t0"},
	},
	{
		playbook: "reconcile-errors", about: "a document was changed by hand", signal: "reconcile-errors",
		trouble: func(o *oncall, s *shell) {
			s.given["OPERATION"] = o.running("a")
			o.spoil(ledger.OperationPath(operation.Key(s.given["OPERATION"])), `"many"`)
			o.tick()
			s.may = []string{"opledger show"}
		},
		sees: []string{"attempts"},
		repaired: func(o *oncall, s *shell) {
			o.spoil(ledger.OperationPath(operation.Key(s.given["OPERATION"])), "0")
		},
		fix: []string{"opledger list --wide"}, after: (*oncall).tick, gone: []string{"jsonPayload", "cannot be read"},
		over: []string{"errors 0"},
	},
	{
		playbook: "behind", about: "Gemini asks to be left alone", signal: "behind",
		trouble: func(o *oncall, s *shell) {
			s.given["OPERATION"] = o.running("a")
			o.intended("c-1", operation.Batches) // it is searched for after the look-ups
			slower := geminisim.ErrorAnswer(http.StatusTooManyRequests, "slower")
			slower.Header = http.Header{"Retry-After": {"3600"}}
			o.sim.AnswerNext(geminisim.OpGet, "", slower)
			o.tick()
		},
		sees: []string{"rate-limited"}, fix: []string{"jobs run"}, over: []string{"Z\t"},
		after: (*oncall).tick,
	},
	{
		playbook: "unanswered", about: "Gemini was down", signal: "unanswered",
		trouble: func(o *oncall, s *shell) {
			s.given["OPERATION"] = o.running("a")
			down := geminisim.ErrorAnswer(http.StatusServiceUnavailable, "the model is away")
			down.Times = -1
			o.sim.AnswerNext(geminisim.OpGet, "", down)
			o.sim.AnswerNext(geminisim.OpList, "", down)
			o.tick()
			s.may = []string{"opledger status", "opledger reconcile"}
		},
		sees:     []string{"unavailable", "the model is away", "Gemini answered none of the last look-ups"},
		repaired: func(o *oncall, _ *shell) { o.sim.ClearAnswers() }, fix: []string{"jobs run"},
		after: (*oncall).tick, over: []string{"RUNNING"}, gone: []string{"unavailable"},
	},
	{
		playbook: "long-list", about: "ended batches were never deleted", signal: "long-list",
		trouble: func(o *oncall, _ *shell) {
			o.intended("c-1", operation.Batches)
			o.longList()
			o.tick()
		},
		sees: []string{"more than 200 pages", "c-1"}, repaired: func(o *oncall, _ *shell) { o.sim.ClearAnswers() },
		after: (*oncall).tick, gone: []string{"200 pages"},
	},
	{
		playbook: "overdue", about: "effects are paused", signal: "overdue",
		trouble: func(o *oncall, s *shell) {
			o.pause("true")
			s.given["OPERATION"] = o.done("batches/a", operation.Expired)
			o.deliverAll()
			o.clock.Advance(2 * time.Hour)
			o.tick()
			s.may = []string{"opledger status"}
		},
		sees:  []string{"effects are paused, and the first of 1 has waited", "that of batches/a", "true"},
		fix:   []string{"OPLEDGER_EFFECTS_PAUSED=false"},
		after: func(o *oncall) { o.tick(); o.deliverAll(); o.later(); o.lately(); o.tick() },
		over:  []string{"attempt, done"},
	},
}

var drillsOfOperations = []drill{
	{
		playbook: "stuck", about: "its result is not needed", signal: "stuck",
		trouble: func(o *oncall, s *shell) {
			s.given["OPERATION"] = o.running("a")
			o.clock.Advance(o.ledger.Settings().BatchStuckAfter)
			o.tick()
		},
		sees: []string{"RUNNING"}, fix: []string{"opledger abandon"},
		after: func(o *oncall) { o.clock.Advance(o.ledger.Settings().AlertEvery); o.tick() },
		gone:  []string{"batches/"},
	},
	missingAs("the name was mistyped", "opledger register", func(o *oncall, s *shell) {
		s.given["RIGHT"] = string(o.batch("right", geminisim.StateRunning).Key)
	}),
	missingAs("it was deleted", "deleted at Gemini", func(*oncall, *shell) {}),
	unboundAs("it runs, under a name that is found", "opledger register", nil, func(o *oncall, s *shell) {
		s.given["OPERATION"] = string(o.batch("found", geminisim.StateRunning).Key)
	}),
	unboundAs("its submitter died", "opledger intent abandon", []string{"ABANDONED by "}, func(*oncall, *shell) {}),
	unboundAs("its submitter died, and nothing of it may be kept", "opledger intent forget", nil,
		func(*oncall, *shell) {}),
	{
		playbook: "conflicts", about: "the other end is not true", signal: "conflicts",
		trouble: func(o *oncall, s *shell) {
			name := o.registered(o.batch("a", geminisim.StateSucceeded))
			s.given["OPERATION"] = string(name.Key)
			o.deliver(geminisim.Delivery{ID: "m1", Type: "batch.succeeded", Name: name.Resource})
			o.deliver(geminisim.Delivery{ID: "m2", Type: "batch.failed", Name: name.Resource})
		},
		sees: []string{"m2", "m1", "NOT APPLIED"}, fix: []string{"opledger reconcile", "opledger resolve"},
		over: []string{"no conflict waits for an operator"}, gone: []string{"batches/"},
		after: func(o *oncall) {
			for _, batch := range o.sim.Batches() { // redelivered
				o.deliver(geminisim.Delivery{ID: "m2", Type: "batch.failed", Name: batch.Name})
			}
		},
	},
	{
		playbook: "unmatched", about: "a submitter does not register", signal: "unmatched",
		trouble: func(o *oncall, s *shell) {
			name := o.batch("a", geminisim.StateSucceeded)
			s.given["OPERATION"] = string(name.Key)
			o.deliver(geminisim.Delivery{ID: "m1", Type: "batch.succeeded", Name: name.Resource})
		},
		sees: []string{"1 batches/", "SUCCEEDED"}, fix: []string{"opledger register"},
		after: func(o *oncall) {
			for _, batch := range o.sim.Batches() {
				o.deliver(geminisim.Delivery{ID: "m2", Type: "batch.succeeded", Name: batch.Name})
			}
		},
	},
	{
		playbook: "unmatched", about: "it is another program's", signal: "unmatched",
		trouble: func(o *oncall, s *shell) {
			name := o.batch("a", geminisim.StateSucceeded)
			s.given["OPERATION"] = string(name.Key)
			o.deliver(geminisim.Delivery{ID: "m1", Type: "batch.succeeded", Name: name.Resource})
		},
		sees: []string{"1 batches/"}, fix: []string{"opledger resolve"}, gone: []string{"batches/"},
		after: func(o *oncall) { o.clock.Advance(time.Hour) },
	},
}

// missingAs is the drill of an operation that Gemini does not know, for a reason.
func missingAs(about, fix string, also func(*oncall, *shell)) drill {
	return drill{
		playbook: "missing", about: about, signal: "missing",
		trouble: func(o *oncall, s *shell) {
			s.given["OPERATION"] = string(o.registered(o.named("batches/none")).Key)
			o.tick()
			o.clock.Advance(time.Hour)
			o.tick()
			also(o, s)
		},
		sees: []string{"batches/none"}, fix: []string{fix},
		after: func(o *oncall) { o.clock.Advance(o.ledger.Settings().AlertEvery); o.tick() },
		gone:  []string{"batches/none"},
	}
}

// unboundAs is the drill of an intent of which nothing came. With over it is still listed at the end.
func unboundAs(about, fix string, over []string, also func(*oncall, *shell)) drill {
	d := drill{
		playbook: "unbound", about: about, signal: "unbound",
		trouble: func(o *oncall, s *shell) {
			o.intended("c-1", operation.Batches)
			o.clock.Advance(o.ledger.Settings().StuckAfter)
			o.tick()
			s.given["ID"] = "c-1"
			also(o, s)
		},
		sees: []string{"intents/c-1", "nothing was found"}, fix: []string{fix},
		after: func(o *oncall) { o.clock.Advance(o.ledger.Settings().AlertEvery); o.tick() },
		over:  over,
	}
	if over == nil {
		d.gone = []string{"c-1"}
	}
	return d
}

// spoil sets the attempts of a document, bypassing the store's checks.
func (o *oncall) spoil(path ledger.Path, attempts string) {
	o.Helper()
	o.setField(path, "$.attempts", attempts)
}

// renamed has the functions know an effect under another name.
func (o *oncall) renamed(from, to string) {
	o.Helper()
	o.effects = slices.Clone(o.effects)
	for i, s := range o.effects {
		if s.Name == from {
			o.effects[i] = spec.Spec{Name: to, Do: s.Do, On: s.On, Alerts: s.Alerts, Each: s.Each}
		}
	}
	_ = o.store.Close()
	o.openLedger()
	o.deploy()
}
