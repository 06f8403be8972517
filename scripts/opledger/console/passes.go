package console

import (
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// passesPage is what passes.html shows.
type passesPage struct {
	ledger.Pass
	Took     time.Duration
	Every    time.Duration
	Late     bool // the next pass should have been made long ago
	Serve    overview.Serve
	Paused   bool
	Remedies []remedy
}

func loadPasses(c *Console, r *request) (any, error) {
	last, now, err := c.ledger.Passes.Last(r)
	if err != nil {
		return nil, err
	}
	p := passesPage{
		Pass: last, Took: last.Ended.Sub(last.Began), Every: c.options.Interval,
		Late:   !last.IsZero() && now.Sub(last.Ended) >= overview.LateAfter(c.options.Interval),
		Paused: c.pausedHere() || last.Effects == ledger.EffectsPaused, Serve: c.serve(r),
	}
	view := c.view(r)
	checks := "Compares it with what Gemini has, and says what to do."
	if c.options.Location.IsFile() {
		checks += " It needs the variables of serve, such as GEMINI_API_KEY."
	}
	p.Remedies = []remedy{
		{Label: "Make a pass now", Line: "opledger reconcile" + view.StoreFlag(),
			Explains: "Looks up due operations and enqueues due effects, as the schedule does. Its log names what fails."},
		{Label: "Check the webhook", Line: "opledger webhook check", Explains: checks},
	}
	return p, nil
}

// unpause is how to end a pause that by says: serve ends its own, and of a deployment a setting does.
func (c *Console) unpause(r *request, by string) []remedy {
	if by == pausedByProcess && c.options.Paused == nil { // this process is not serve
		return []remedy{{Label: "End the pause of this console", Explains: unpauseHere}}
	}
	if serve := c.serve(r); serve.Down() {
		again := remedy{
			Label: "Start opledger serve again", Line: "opledger serve" + c.view(r).StoreFlag(),
			Explains: "None works on this ledger, and none could end its pause. Start it with the settings that it had, but " +
				"without OPLEDGER_EFFECTS_PAUSED.",
		}
		if serve.State == overview.ServeSilent {
			again.Line = "" // the silent one has the port, and must be ended first
		}
		return []remedy{again}
	}
	if c.options.Location.IsFile() {
		return c.remedies(subject{PausedBy: by, view: c.view(r)})
	}
	return []remedy{{
		Label: "End the pause of a deployment", Line: "terraform -chdir=infra apply -var effects_paused=false",
		Explains: "This ledger is in Firestore, which deployed functions work on. Effects that are due then run within " +
			"about an interval.",
	}, {
		Label: "End the pause of serve",
		Explains: "If opledger serve works on this ledger: unset OPLEDGER_EFFECTS_PAUSED where it was started, and start " +
			"it again there, with its own variables.",
	}}
}

// pause returns who says that effects are paused, as far as it is known; empty: they are not.
func (c *Console) pause(r *request) (by string, err error) {
	last, now, err := c.ledger.Passes.Last(r)
	if c.pausedHere() || last.Effects == ledger.EffectsPaused {
		by = pausedBy(last, now)
	}
	return by, err
}

// outcomes say in words how a pass ended.
var passOutcomes = map[ledger.PassOutcome]string{
	ledger.PassFailed: "nothing could be read", ledger.PassErrors: "some items could not be handled",
	ledger.PassMore: "it ended before everything due was handled", ledger.PassDone: "everything due was handled",
}

// Result says how the pass ended.
func (p passesPage) Result() string {
	if p.Outcome == ledger.PassDone && p.Pass.Effects == ledger.EffectsPaused && p.Requeued > 0 {
		return "everything due was handled, but for effects, which are paused"
	}
	return phrase.Safe(passOutcomes[p.Outcome])
}

// EffectWords says what the pass did with effects that were due.
func (p passesPage) EffectWords() string { return overview.EffectWords(p.Pass) }

// WebhookWords says what the pass saw of the webhook.
func (p passesPage) WebhookWords() string { return overview.Overview{LastPass: p.Pass}.WebhookWords() }
