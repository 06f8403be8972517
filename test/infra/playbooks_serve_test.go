package infra_test

import (
	"fmt"

	"github.com/opledger/opledger/shared/ledger"
)

// drillsOfServe are the drills of those playbooks that say what to do with opledger serve, on its ledger in
// a file: the same trouble, and the commands that need no gcloud.
func drillsOfServe() (all []drill) {
	instead := map[string]drill{
		"overdue": {sees: []string{"effects are paused, and the first of 1 has waited", "effects are paused: accepted"},
			repaired: func(o *oncall, _ *shell) { o.pause("false") }}, // it is started again without the pause
		"missing":      {sees: []string{"not found"}},
		"conflicts":    {sees: []string{"NOT APPLIED"}},
		"effects-dead": {sees: []string{"410"}},
		"refused": {sees: []string{"the webhook refused 3 requests", "the signature does not fit", "wrong"},
			over: []string{"ok "}},
	}
	for _, drills := range [][]drill{drillsOfPasses, drillsOfOperations, drillsOfEffects, drillsOfWebhook} {
		for _, d := range drills {
			other, ok := instead[d.playbook]
			if !ok {
				continue
			}
			d.serve, d.about, d.sees = true, d.about+" (serve)", other.sees
			if other.over != nil {
				d.over = other.over
			}
			if other.repaired != nil { // and no command does it
				d.repaired, d.fix = other.repaired, nil
			}
			all = append(all, d)
		}
	}
	return all
}

// serveSettings are the variables of opledger serve, as a shell sets them.
func (o *oncall) serveSettings() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	settings := o.settings["effects"]
	return fmt.Sprintf("export OPLEDGER_STORE='%s' OPLEDGER_EFFECTS='%s' OPLEDGER_EFFECT_ALLOW_PRIVATE=true "+
		"GEMINI_API_KEY=key GOOGLE_GEMINI_BASE_URL='%s' "+
		"OPLEDGER_WEBHOOK_URL='%s' OPLEDGER_WEBHOOK_SECRET='%s'\n", settings["OPLEDGER_STORE"], settings["OPLEDGER_EFFECTS"],
		settings["GOOGLE_GEMINI_BASE_URL"], o.at.URL, storedSecret)
}

// countsRefusals stores at once what the webhook refuses and accepts, as serve does within a minute.
func (o *oncall) countsRefusals() {
	o.count = func(refused string) {
		var counted ledger.Refusals
		if now := o.clock.Now(); refused != "" {
			counted.Refuse(refused, now)
		} else {
			counted.Accept(now)
		}
		if _, err := o.ledger.Passes.AddRefusals(o.Context(), counted, o.clock.Now()); err != nil {
			o.Error(err)
		}
	}
}
