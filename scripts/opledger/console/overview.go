package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// overviewPage is what overview.html shows.
type overviewPage struct {
	Tiles    []tile
	Sections []section
	Ends     ends
	Partial  bool // there may be more than the Sections have
}

// Needs is how many things need an operator. The title of the page has the number.
func (p overviewPage) Needs() (n int) {
	for _, s := range p.Sections {
		if s.Needs {
			n += len(s.Lines)
		}
	}
	return n
}

// A section is one of [overview.Overview.Sections].
type section struct {
	Heading string
	Needs   bool
	Lines   []attention // the most urgent first
}

// A tile is one fact, and where to see more of it.
type tile struct {
	Number, Label, Sub, Link string
	Tone                     phrase.Tone
}

// An attention is something that an operator should look at.
type attention struct {
	Tone        phrase.Tone
	Words, Link string
	Detail      string
	Command     string // that helps, or shows more
	Playbook    string // what to do about it; empty: there is none
	Of          string // what the Groups are of; empty: of all
	Groups      []failureGroup
}

// overviewLinks are the pages of what an overview tells about. Each names what can be done.
var overviewLinks = map[string]string{
	overview.AboutDead: receiversPath, overview.AboutEffects: "/console/effects",
	overview.AboutPause:   "/console/effects",
	overview.AboutPending: "/console/operations?show=pending", overview.AboutQuarantine: "/console/quarantine",
	overview.AboutFailing:      receiversPath,
	overview.AboutLate:         lateLink,
	overview.AboutUnregistered: "/console/operations?show=unregistered",
	overview.AboutIntents:      "/console/intents", overview.AboutDocuments: "/console/operations",
	overview.AboutConflicts: "/console/operations?show=conflict", overview.AboutPasses: passesLink,
	overview.AboutServe:   passesLink,
	overview.AboutWebhook: passesLink,
	overview.AboutJobs:    jobsPath, overview.AboutGemini: passesLink, overview.AboutSettings: "/console/settings",
	overview.AboutUnknown: "/console/effects", overview.AboutUnmatched: jobsPath,
}

// lateLink is the list of the operations that are pending for too long.
const lateLink = "/console/operations?show=late"

// passesLink is the page about the scheduled passes and what they saw.
const passesLink = "/console/passes"

func loadOverview(c *Console, r *request) (any, error) {
	o, err := overview.Read(r, c.ledger, overview.Options{
		Interval: c.options.Interval, Most: c.options.Most, Paused: c.pausedHere(),
		StoreFlag: c.view(r).StoreFlag(), File: c.options.Location.IsFile(), Rules: c.options.Rules,
		Serve: c.serve(r),
	})
	newest, endsErr := c.ledger.Operations.Ends(r, ledger.Cursor{}, c.options.Ends)
	p := overviewPage{
		Tiles: tiles(o), Ends: drawEnds(newest.Items), Partial: o.Partial,
	}
	for _, s := range o.Sections() {
		p.Sections = append(p.Sections, section{s.Heading, s.Needs, c.attention(o, s)})
	}
	return p, errors.Join(err, endsErr)
}

// serve is what is known of the serve that works on the ledger.
func (c *Console) serve(ctx context.Context) overview.Serve {
	if c.options.Serve == nil {
		return overview.Serve{}
	}
	return c.options.Serve(ctx)
}

func tiles(o overview.Overview) []tile {
	dead := newTile(overview.AboutDead, o.Dead.Total, things(o.Dead.Total, "operation")+" with a dead effect",
		"nothing to decide")
	if o.Dead.N > 0 {
		dead.Tone, dead.Sub = phrase.Bad, "the newest died "+phrase.Relative(newestDeath(o.Dead.Errors), o.At)
	}
	open := newTile(overview.AboutEffects, o.Effects.Open, things(o.Effects.Open, "effect")+" to perform",
		"none waits, none runs")
	if o.Effects.Open.N > 0 {
		open.Sub = o.Effects.Running.String() + " of them running"
	}
	if o.Paused {
		open.Tone, open.Sub = phrase.Warn, "paused: none is run"
	}
	pending := newTile(overview.AboutPending, o.Pending.Total, "pending "+things(o.Pending.Total, "operation"),
		"none is waited for")
	if o.Pending.Oldest != "" {
		pending.Sub = "the oldest for " + phrase.Span(o.At.Sub(o.Pending.SubmittedAt)) + "; " + nextLookUp(o)
	}
	if o.Pending.Late.N > 0 {
		pending.Sub = o.Pending.Late.String() + " of them for too long, " + pending.Sub
		pending.Link = lateLink
	}
	if isProblem(o, overview.AboutPending) || isProblem(o, overview.AboutLate) {
		pending.Tone = phrase.Warn
	}
	unregistered := newTile(overview.AboutUnregistered, o.Unregistered.Total,
		"unregistered "+things(o.Unregistered.Total, "operation"), "every event is of a registered operation")
	if o.Unregistered.N > 0 {
		unregistered.Sub = "an event reported them, and no effect runs"
	}
	if o.Unregistered.Long.N > 0 {
		unregistered.Tone = phrase.Warn
	}
	conflicts := newTile(overview.AboutConflicts, o.Conflicts.Total, "ended in two ways this week",
		"no conflict waits for an operator")
	if o.Conflicts.N > 0 {
		conflicts.Tone, conflicts.Sub = phrase.Warn, "the newest "+phrase.Relative(o.Conflicts.At, o.At)
	}
	quarantine := newTile(overview.AboutQuarantine, o.Unread.Unresolved, "unresolved in quarantine",
		"every delivery could be read")
	if o.Unread.N > 0 {
		quarantine.Sub = o.Unread.Total.String() + " kept"
	}
	if o.Unread.Unresolved.N > 0 {
		quarantine.Tone = phrase.Warn
	}
	intents := newTile(overview.AboutIntents, o.Intents.Total, "waiting "+things(o.Intents.Total, "intent"),
		"every submission is known")
	if o.Intents.N > 0 {
		intents.Sub = o.Intents.Words()
	}
	jobs := newTile(overview.AboutJobs, o.Jobs.Total, things(o.Jobs.Total, "job")+" not ended", "no job runs")
	switch n := len(o.Jobs.Stopped); {
	case n == 1:
		jobs.Tone, jobs.Sub = phrase.Bad, overview.AtLeast(o.Jobs.Partial, "1")+" of them needs an operator"
	case n > 1:
		jobs.Tone = phrase.Bad
		jobs.Sub = overview.AtLeast(o.Jobs.Partial, phrase.Number(int64(n))) + " of them need an operator"
	case o.Jobs.Partial:
		jobs.Sub = "none of the newest needs an operator"
	case o.Jobs.N > 0:
		jobs.Sub = "none needs an operator"
	}
	return append([]tile{dead, open, jobs, pending, conflicts, unregistered, quarantine, intents}, passTiles(o)...)
}

func newTile(about string, n ledger.Total, label, sub string) tile {
	return tile{Number: n.String(), Label: label, Sub: sub, Link: overviewLinks[about]}
}

// nextLookUp says when the next look-up is made. One that is due is made by the next pass.
func nextLookUp(o overview.Overview) string {
	if !o.Pending.DueSince.IsZero() {
		return "a look-up is due"
	}
	return "a look-up " + phrase.Relative(o.Pending.NextAt, o.At)
}

// isProblem reports whether something of that kind needs an operator.
func isProblem(o overview.Overview, about string) bool {
	return slices.ContainsFunc(o.Problems, func(p overview.Problem) bool { return p.About == about })
}

// things is a word for as many as a total.
func things(t ledger.Total, word string) string {
	if t.N == 1 && !t.More {
		return word
	}
	return word + "s"
}

// passTiles are what the last pass left behind.
func passTiles(o overview.Overview) []tile {
	pass := tile{Number: "none yet", Label: "last pass", Sub: overview.DoneWords(o.LastPass), Link: passesLink}
	if last := o.LastPass.Ended; !last.IsZero() {
		pass.Number = phrase.Relative(last, o.At)
	}
	webhook := tile{Number: string(cmp.Or(o.LastPass.Webhook, ledger.WebhookUnknown)), Label: "webhook", Link: passesLink,
		Sub: "as the last pass saw it"}
	if o.LastPass.Webhook == ledger.WebhookNone { // deliveries may come all the same
		webhook.Number, webhook.Sub = "none known", "to the last pass"
	}
	if o.LastPass.NoWebhook {
		webhook.Number, webhook.Sub = "none", "Gemini has none"
	}
	if o.WrongSecret != nil {
		webhook.Number, webhook.Sub = "wrong secret", "it refuses each delivery"
	}
	if isProblem(o, overview.AboutPasses) || isProblem(o, overview.AboutServe) {
		pass.Tone = phrase.Warn
	}
	if isProblem(o, overview.AboutWebhook) {
		webhook.Tone = phrase.Warn
	}
	return []tile{pass, webhook}
}

// attention is what stands in a section of the overview.
func (c *Console) attention(o overview.Overview, s overview.Section) (all []attention) {
	for _, problem := range s.Problems {
		a := attention{
			Tone: phrase.Warn, Words: phrase.Sentence(problem.Words), Command: problem.Command,
			Link: overviewLinks[problem.About], Playbook: problem.Playbook,
		}
		switch problem.About {
		case overview.AboutJobs:
			a.Link = link("/console/operation", theKey, string(problem.Operation))
			if s.Needs {
				a.Tone = phrase.Bad
			}
		case overview.AboutUnmatched:
			a.Link = link("/console/operation", theKey, string(problem.Operation))
		case overview.AboutDead:
			a.Tone, a.Of, a.Groups = phrase.Bad, o.Dead.Of(), failureGroups(o.Dead.Errors, false, deadAddress)
		case overview.AboutPause:
			a.Detail = pausedBy(o.LastPass, o.At)
		case overview.AboutLeftOut:
			a.Link = leftOutLink(problem.Effect)
		case overview.AboutFailing:
			a.Link = receiverAddress(problem.Receiver)
			if long := o.Effects.Long; !s.Needs {
				a.Groups = failureGroups(o.Effects.Errors, o.Effects.Partial, failingAddress)
			} else if len(long.Errors) > 1 { // one stands in the words
				a.Groups = failureGroups(long.Errors, long.Partial, failingAddress)
			}
		}
		all = append(all, a)
	}
	return all
}

// pausedBy says how it is known that effects are paused.
func pausedBy(last ledger.Pass, now time.Time) string {
	switch {
	case last.Effects != ledger.EffectsPaused:
		return pausedByProcess
	case last.IsZero():
		return "since opledger serve was started"
	default:
		return "as the last pass saw it, " + phrase.Relative(last.Ended, now)
	}
}

// pausedByProcess says that the ledger does not say it.
const pausedByProcess = "OPLEDGER_EFFECTS_PAUSED is true for the process of this console"

func failureGroups(
	all []phrase.FailureGroup, partial bool, address func(phrase.FailureGroup) string,
) (groups []failureGroup) {
	for _, g := range all {
		groups = append(groups, failureGroup{g, address(g), partial})
	}
	return groups
}

func newestDeath(groups []phrase.FailureGroup) (at time.Time) {
	for _, g := range groups {
		at = operation.Later(at, g.Newest)
	}
	return at
}
