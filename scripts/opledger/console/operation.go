package console

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// operationPage is what operation.html shows.
type operationPage struct {
	Key      operation.Key
	Several  []operation.Key // a bare id that means each of these; then nothing else is shown
	Story    ledger.Story
	Timeline timeline
	Next     []string
	Remedies []remedy // of the operation itself
	Effects  []effectPart
	Withheld []effectPart // that are named in the record, and were never planned
	Conflict bool         // another terminal state was reported than the one that stands
	ShowLine string       // the command that prints the same
	Job      *jobView     // of a job; nil: it is none, or only its record is left
	Part     *partView    // of a part of a job
	BatchOf  *batchOf     // of the batch of a part
}

// An effectPart is one effect of an operation.
type effectPart struct {
	ledger.Effect
	Standing string
	Items    string // the counts of an effect that runs once per item
	Failed   []ledger.Item
	Remedies []remedy
}

// mostFailed bounds the FAILED items that are shown of an effect.
const mostFailed = 8

func loadOperation(c *Console, r *request) (any, error) {
	text := r.query.Get(theKey)
	name, err := operation.ParseName(text, "")
	if err != nil {
		return nil, badRequest{err}
	}
	found, err := c.ledger.Operations.Find(r, name)
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		return operationPage{Key: name.Key, Several: found}, nil
	}
	key := name.Key
	if len(found) == 1 {
		key = found[0]
	}
	view := c.view(r)
	by, pauseErr := c.pause(r)
	view.Paused = by != ""
	story, itself, err := c.story(r, key, view)
	if err != nil {
		return nil, err
	}
	intent, err := c.ledger.Intents.Of(r, story.Record)
	err = errors.Join(err, pauseErr)
	p := operationPage{
		Key: key, Story: story, Timeline: draw(view.Timeline(story, intent), story.Effects, r.now), Next: next(story, view),
		Remedies: c.remedies(itself), Conflict: itself.Conflict, ShowLine: "opledger show " + view.Operation(key),
		BatchOf: itself.batchOf(),
	}
	switch {
	case itself.isPart():
		p.Part = &partView{*itself.Part}
	case itself.isJob() && itself.Job != nil:
		var broken []ledger.Broken
		var jobErr error
		p.Job, broken, jobErr = c.viewJob(r, itself)
		p.Story.Broken, err = append(p.Story.Broken, broken...), errors.Join(err, jobErr)
	}
	return p, errors.Join(err, p.addEffects(c, r, itself))
}

// addEffects adds the effects, with what can be done about each.
func (p *operationPage) addEffects(c *Console, r *request, itself subject) (err error) {
	for _, name := range slices.Sorted(maps.Keys(p.Story.Record.Effects)) {
		if p.Story.Record.Effects[name] == operation.EffectWithheld {
			e := ledger.Effect{Operation: p.Key, Name: name}
			p.Withheld = append(p.Withheld, effectPart{Effect: e, Remedies: c.remedies(itself.with(e))})
		}
	}
	for _, e := range p.Story.Effects {
		part := effectPart{Effect: e, Remedies: c.remedies(itself.with(e))}
		if e.State != ledger.EffectDead { // the top of the page says why it is dead
			part.Standing = itself.view.Standing(e)
		}
		if e.Progress != nil {
			part.Items = phrase.Items(*e.Progress)
			if e.Progress.Failed > 0 {
				page, itemsErr := c.ledger.Items.Failed(r, e.Operation, e.Name, ledger.Cursor{}, mostFailed)
				part.Failed, err = page.Items, errors.Join(err, itemsErr)
			}
		}
		p.Effects = append(p.Effects, part)
	}
	return err
}

// view is what the words about effects need.
func (c *Console) view(r *request) phrase.EffectView {
	view := c.options.Effects
	view.Now, view.Paused = r.now, c.pausedHere()
	return view
}

// pausedHere reports whether this process says that effects are paused.
func (c *Console) pausedHere() bool {
	if c.options.Paused != nil {
		return c.options.Paused()
	}
	return c.options.Effects.Paused
}

// next says what the ledger waits for, or no longer.
func next(story ledger.Story, view phrase.EffectView) []string {
	r, now := story.Record, view.Now
	var words []string
	if r.Version > 0 && r.Registered && !r.Settled() && r.Abandoned == nil && r.Collection != operation.Jobs {
		due := "The next look-up is " + phrase.Relative(r.DueAt, now) + "."
		if r.DueAt.Before(now) {
			due = "A look-up is " + phrase.Due(r.DueAt, now) + "."
		}
		words = append(words, fmt.Sprintf("Waits for its completion: %s. %s",
			phrase.WhyPending(r, now, view.StoreFlag()), due))
		if !r.MissingSince.IsZero() {
			words = append(words, "If its name is wrong, or the job is gone from Gemini: abandon it. "+laterEnd)
		}
	}
	if r.Abandoned != nil && !r.Settled() {
		words = append(words, fmt.Sprintf("This is decided: it is waited for no longer, and stays %s. %s No pass looks it "+
			"up again. “Look up now” asks Gemini once.", r.State, laterEnd))
	}
	for _, e := range story.Effects {
		if standing := view.Standing(e); standing != "" && e.State != ledger.EffectDead {
			words = append(words, strings.ReplaceAll(standing, "\n  ", "; "))
		}
	}
	if r.Version > 0 && !r.Registered {
		words = append(words, "It is not registered: "+phrase.Unregistered(r)+".")
	}
	if len(words) == 0 && r.Closed() && !r.Conflicted() && !r.ExpireAt.IsZero() {
		words = append(words, "Nothing is left to do. The record expires "+phrase.Relative(r.ExpireAt, now)+".")
	}
	return words
}
