// Package receivers groups the effects that wait, fail or are dead by who receives them: the host of an http
// effect. So an operator acts on all that one receiver holds up.
//
// No index knows a receiver. The dead effects and the failing ones are found by their own indexes, and of each
// list, and of the newest completions, at most Options.Most documents are read [L4].
package receivers

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Options say how much is read, and what is known beside the ledger.
type Options struct {
	// Most bounds what is read of each list; 0: all of it.
	Most int
	// Hosts are the receivers of effects by their settings, by the effect's name: they count. Of another effect an error
	// names it.
	Hosts map[string]string
	// Troubled: only the dead and the failing effects are read, and with Open the others that are open. Rates stay empty.
	Troubled, Open bool
}

// Receivers are the effects of a ledger, grouped.
type Receivers struct {
	At     time.Time // by the store's clock
	Groups []Group   // those with dead effects first
	// Partial: a list was longer than what was read of it, so that the numbers are lower bounds.
	Partial bool
	// PartialRates: more operations ended within the longest of the times than the rates are of.
	PartialRates bool
	Broken       []ledger.Broken
}

// A Group is the effects of one name that one receiver gets.
type Group struct {
	// Receiver is the host, with its port; empty: neither an error nor a setting names one.
	Receiver string
	Effect   string // the rule; its reruns and alerts are of the same group
	// Dead need an operator. Failing failed at their last attempt, and are tried again: the longest first.
	Dead, Failing []ledger.Effect
	Waiting       []ledger.Effect // to be run, and never failed
	Running       int
	// Since is when the first of the dead and failing ones began to fail; zero: none has failed.
	Since time.Time
	// LastError is the newest of their errors, and LastAt when it was recorded.
	LastError string
	LastAt    time.Time
	Rates     []Rate
}

// A Rate is how many effects are done of the operations that ended within a time.
type Rate struct {
	Within   time.Duration
	Done, Of int
}

// windows are the times of the rates, of which the page shows each.
var windows = []time.Duration{time.Hour, 24 * time.Hour}

// chunk is how many documents one query reads.
const chunk = 500

// Read reads the groups. Errors: the store's.
func Read(ctx context.Context, l ledger.Reading, o Options) (Receivers, error) {
	now, err := l.Now(ctx)
	if err != nil {
		return Receivers{}, err
	}
	g := grouping{Receivers: Receivers{At: now}, reading: l, options: o, rates: map[string][]Rate{}}
	reads := []func(context.Context) error{g.readDead, g.readFailing, g.readOpen, g.readEnds}
	switch {
	case o.Troubled && o.Open:
		reads = reads[:3]
	case o.Troubled:
		reads = reads[:2]
	}
	for _, read := range reads {
		if err := read(ctx); err != nil {
			return Receivers{}, err
		}
	}
	g.group()
	return g.Receivers, nil
}

// A grouping is one call of Read.
type grouping struct {
	Receivers
	reading             ledger.Reading
	options             Options
	dead, failing, open []ledger.Effect
	rates               map[string][]Rate // by the effect's rule
}

// pages calls next with the cursor of each page, until the list ends, what is read is enough, or it fails. Where it is
// longer than what may be read, it sets partial.
func pages[T any](
	g *grouping, partial *bool, next func(after ledger.Cursor, limit int) (ledger.Page[T], error),
	take func([]T) (enough bool),
) error {
	limit := func(read int) int {
		if g.options.Most == 0 {
			return chunk
		}
		return min(chunk, g.options.Most-read)
	}
	var after ledger.Cursor
	for read := 0; ; {
		page, err := next(after, limit(read))
		if err != nil {
			return err
		}
		g.Broken = append(g.Broken, page.Broken...)
		read += len(page.Items) + len(page.Broken)
		if after = page.Next; take(page.Items) || after.Path == "" {
			return nil
		}
		if limit(read) <= 0 {
			*partial = true
			return nil
		}
	}
}

// Dead reads the dead effects of the newest operations that have one. limit is that of the operations.
func Dead(
	ctx context.Context, l ledger.Reading, after ledger.Cursor, limit int,
) (page ledger.Page[ledger.Effect], err error) {
	records, err := l.Operations.List(ctx, ledger.Filter{Dead: true, After: after, Limit: limit})
	if err != nil {
		return page, err
	}
	page.Next = records.Next
	page.Items, page.Broken, err = l.Effects.Dead(ctx, records.Items)
	page.Broken = append(records.Broken, page.Broken...)
	return page, err
}

func (g *grouping) readDead(ctx context.Context) error {
	return pages(g, &g.Partial, func(after ledger.Cursor, limit int) (ledger.Page[ledger.Effect], error) {
		return Dead(ctx, g.reading, after, limit)
	}, keep(&g.dead))
}

func (g *grouping) readFailing(ctx context.Context) error {
	return pages(g, &g.Partial, func(after ledger.Cursor, limit int) (ledger.Page[ledger.Effect], error) {
		return g.reading.Effects.Failing(ctx, g.At, after, limit)
	}, keep(&g.failing))
}

// keep appends to all, without payloads, which may be large.
func keep(all *[]ledger.Effect) func([]ledger.Effect) bool {
	return func(effects []ledger.Effect) bool {
		for _, e := range effects {
			e.Payload = ""
			*all = append(*all, e)
		}
		return false
	}
}

func (g *grouping) readOpen(ctx context.Context) error {
	return pages(g, &g.Partial, func(after ledger.Cursor, limit int) (ledger.Page[ledger.DueEffect], error) {
		return g.reading.Effects.Open(ctx, after, limit)
	}, func(due []ledger.DueEffect) bool {
		for _, d := range due {
			if e := d.Effect; e.Failing == nil || e.State == ledger.EffectClaimed {
				e.Payload = ""
				g.open = append(g.open, e)
			}
		}
		return false
	})
}

// readEnds counts what became of the effects of the operations that ended within the windows.
func (g *grouping) readEnds(ctx context.Context) error {
	return pages(g, &g.PartialRates, func(after ledger.Cursor, limit int) (ledger.Page[operation.Record], error) {
		return g.reading.Operations.Ends(ctx, after, limit)
	}, func(records []operation.Record) bool {
		for _, rec := range records {
			age := g.At.Sub(rec.SettledAt)
			if age > windows[len(windows)-1] {
				return true
			}
			for name, status := range rec.Effects {
				g.count(ledger.RuleOf(name), status, age)
			}
		}
		return false
	})
}

// count counts an effect of an operation that ended so long ago.
func (g *grouping) count(rule string, status operation.EffectStatus, age time.Duration) {
	if status == operation.EffectWithheld {
		return
	}
	if g.rates[rule] == nil {
		for _, within := range windows {
			g.rates[rule] = append(g.rates[rule], Rate{Within: within})
		}
	}
	for i, within := range windows {
		rate := &g.rates[rule][i]
		if age > within {
			continue
		}
		rate.Of++
		if status == operation.EffectDone {
			rate.Done++
		}
	}
}

// group makes the Groups of what was read.
func (g *grouping) group() {
	hosts := g.hosts()
	type key struct{ receiver, effect string }
	groups := map[key]*Group{}
	of := func(e ledger.Effect) *Group {
		rule := ledger.RuleOf(e.Name)
		k := key{cmp.Or(hosts[rule], phrase.Receiver(lastError(e))), rule}
		if groups[k] == nil {
			groups[k] = &Group{Receiver: k.receiver, Effect: rule, Rates: g.rates[rule]}
		}
		return groups[k]
	}
	for _, e := range g.dead {
		in := of(e)
		in.Dead = append(in.Dead, e)
		in.failed(e)
	}
	for _, e := range g.failing {
		in := of(e)
		if e.State == ledger.EffectPending { // of one that is CLAIMED an attempt is on its way
			in.Failing = append(in.Failing, e)
		}
		in.failed(e)
	}
	for _, e := range g.open {
		if in := of(e); e.State == ledger.EffectClaimed {
			in.Running++
		} else {
			in.Waiting = append(in.Waiting, e)
		}
	}
	for _, in := range groups {
		g.Groups = append(g.Groups, *in)
	}
	slices.SortFunc(g.Groups, func(a, b Group) int {
		return cmp.Or(len(b.Dead)-len(a.Dead), len(b.Failing)-len(a.Failing), cmp.Compare(a.Receiver, b.Receiver),
			cmp.Compare(a.Effect, b.Effect))
	})
}

// lastError is the last error of an effect, or of one that was reopened that of before.
func lastError(e ledger.Effect) string {
	for i := len(e.Replays) - 1; e.LastError == "" && i >= 0; i-- {
		e.LastError = e.Replays[i].LastError
	}
	return e.LastError
}

// hosts are the receivers by the effects' names: of the settings, and where all errors of an effect name one,
// of those.
func (g *grouping) hosts() map[string]string {
	hosts := map[string]string{}
	for _, e := range slices.Concat(g.dead, g.failing) {
		host, rule := phrase.Receiver(e.LastError), ledger.RuleOf(e.Name)
		if host == "" {
			continue
		}
		if before, named := hosts[rule]; named && before != host {
			host = "" // they name several
		}
		hosts[rule] = host
	}
	maps.Copy(hosts, g.options.Hosts)
	return hosts
}

// failed takes in when and why an effect failed.
func (g *Group) failed(e ledger.Effect) {
	since, last := e.DiedAt, e.DiedAt
	if e.Failing != nil {
		since, last = e.Failing.Since, operation.Later(last, e.Failing.Last)
	}
	if g.Since.IsZero() || !since.IsZero() && since.Before(g.Since) {
		g.Since = since
	}
	if g.LastError == "" || last.After(g.LastAt) {
		g.LastError, g.LastAt = phrase.Readable(e.LastError), last
	}
}

// Of returns the group of a receiver and an effect; a group without effects where there is none.
func (r Receivers) Of(receiver, effect string) Group {
	for _, g := range r.Groups {
		if g.Receiver == receiver && g.Effect == effect {
			return g
		}
	}
	return Group{Receiver: receiver, Effect: effect}
}

// Percent is the share that is done, of 100; of none 0.
func (r Rate) Percent() int {
	if r.Of == 0 {
		return 0
	}
	return 100 * r.Done / r.Of
}
