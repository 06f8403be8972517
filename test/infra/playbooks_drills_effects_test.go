package infra_test

import (
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/operation"
)

// fails plans an effect that its receiver answers with a status, and runs it.
func (o *oncall) fails(s *shell, status int) {
	o.Helper()
	o.answers(status)
	s.given["OPERATION"], s.given["EFFECT"] = o.done("batches/a", operation.Expired), "publish"
	o.deliverAll()
}

// receives makes the receiver work again.
func receives(o *oncall, _ *shell) { o.answers(http.StatusOK) }

// another runs the effect of another operation.
func another(o *oncall) {
	o.done("batches/b", operation.Expired)
	o.deliverAll()
}

// itemsFail runs an effect per item whose receiver refuses the items.
func itemsFail(o *oncall, s *shell) {
	name := o.registered(o.batch("items", geminisim.StateRunning))
	if err := o.sim.SetState(name.Resource, geminisim.StateSucceeded); err != nil {
		o.Error(err)
	}
	o.lookUp(name)
	m := o.message("each") // and not about publish
	o.answers(http.StatusGone)
	o.outboxed(m)
	o.deliverAll()
	s.given["OPERATION"], s.given["EFFECT"] = string(name.Key), "each"
}

var drillsOfEffects = []drill{
	{
		playbook: "effects-failing", about: "the receiver was away", signal: "effects-failing",
		trouble: func(o *oncall, s *shell) { o.fails(s, http.StatusServiceUnavailable) },
		sees:    []string{"503", "batches/a\tpublish"}, repaired: receives,
		after: func(o *oncall) { o.clock.Advance(time.Hour); o.tick(); another(o) },
		over:  []string{"finished\tpublish"}, gone: []string{"failed"},
	},
	{
		playbook: "effects-failing-long", about: "the receiver is away for days", signal: "effects-failing-long",
		trouble: func(o *oncall, s *shell) {
			o.fails(s, http.StatusServiceUnavailable)
			o.clock.Advance(2 * time.Hour)
			o.tick()
			o.deliverAll()
		},
		sees: []string{"503", "batches/a\tpublish"}, repaired: receives,
		fix:   []string{"PAUSED=true", "PAUSED=false"},
		after: func(o *oncall) { o.clock.Advance(2 * time.Hour); o.tick(); o.deliverAll(); another(o) },
		over:  []string{"done"},
	},
	{
		playbook: "effects-dead", about: "all are run again", signal: "effects-dead",
		trouble: func(o *oncall, s *shell) {
			o.done("batches/c", operation.Expired)
			o.fails(s, http.StatusGone)
			o.answers(http.StatusOK) // the playbook begins after the cause is fixed
			o.follows = true
		},
		sees: []string{"batches/a", "410"}, fix: []string{"replay --dead"}, after: another, gone: []string{"batches/"},
	},
	{
		playbook: "effects-dead", about: "it is not needed", signal: "effects-dead",
		trouble: func(o *oncall, s *shell) {
			o.fails(s, http.StatusGone)
			o.follows = true
			s.may = []string{"opledger replay"} // it is dead again
		},
		sees: []string{"batches/a", "410"}, fix: []string{"opledger waive"}, gone: []string{"batches/"},
	},
	{
		playbook: "items-failed", about: "the receiver takes them now", signal: "items-failed",
		trouble: itemsFail, sees: []string{"410", "11 failed"}, repaired: receives, fix: []string{"opledger replay"},
		over: []string{"11 done, 0 failed"}, gone: []string{"DEAD"},
	},
	{
		playbook: "items-failed", about: "they are not needed", signal: "items-failed",
		trouble: itemsFail, sees: []string{"410"}, fix: []string{"opledger waive"}, over: []string{"waived"},
	},
	{
		playbook: "effects-uncertain", about: "its instance ran out of memory", signal: "effects-uncertain",
		trouble: func(o *oncall, s *shell) {
			o.pause("true") // so that another instance takes it
			s.given["OPERATION"] = o.done("batches/a", operation.Expired)
			m := o.message("publish")
			o.takeOver(m)
			o.clock.Advance(o.ledger.Settings().ClaimTTL)
			o.pause("false")
			o.outboxed(m)
			o.exceeds("effects")
			o.deliverAll()
		},
		sees: []string{"seized"}, fix: []string{"logging read", "--memory"}, after: another, over: []string{"done"},
	},
	{
		playbook: "effects-unknown", about: "an effect was renamed", signal: "effects-unknown",
		trouble: func(o *oncall, s *shell) {
			o.pause("true")
			s.given["OPERATION"] = o.done("batches/a", operation.Expired)
			o.deliverAll()
			o.pause("false")
			o.renamed("publish", "tell")
			o.clock.Advance(time.Hour)
			o.tick()
			o.deliverAll()
		},
		sees: []string{"1 publish", "tell"}, repaired: func(o *oncall, _ *shell) { o.renamed("tell", "publish") },
		fix: []string{"opledger replay"}, after: another, over: []string{"done"},
	},
	{
		playbook: "effects-malformed", about: "another program publishes", signal: "effects-malformed",
		trouble: func(o *oncall, s *shell) {
			s.given["OPERATION"] = o.done("batches/a", operation.Expired)
			o.deliverAll()
			o.waiting = append(o.waiting, `{"operation":"batches/a"}`)
			o.deliverAll()
		},
		sees: []string{"publisher"}, fix: []string{"opledger replay", "subscriptions seek"},
		after: (*oncall).deliverAll,
	},
}
