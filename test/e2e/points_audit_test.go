package e2e

import (
	"slices"
	"time"

	cloudfirestore "cloud.google.com/go/firestore"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/operation"
)

// A point is a moment in an effect's life at which its process is killed, and what must come of it.
type point struct {
	moment moment
	// sent: the receiver has got the request. again: it gets another, because the outcome did not reach the ledger.
	sent, again bool
}

func points() []point {
	return []point{
		{moment: claiming},
		{moment: beforeEffect, sent: true, again: true},
		{moment: duringEffect, sent: true, again: true},
		{moment: finishing, sent: true, again: true},
		{moment: finishLost, sent: true},
		{moment: acknowledging, sent: true},
	}
}

// A written effect is one as it stands in the end, with the document that rode in its finishing commit.
type writtenEffect struct {
	ledger.Effect
	updated     time.Time
	extraWrites []extraWrite
}

type extraWrite struct {
	Owner            string `firestore:"owner"`
	Fence            int64  `firestore:"fence"`
	created, updated time.Time
}

// effects reads every effect and its extra writes, by idempotency key.
func (c *cloud) effects() map[string]*writtenEffect {
	c.t.Helper()
	ctx := c.t.Context()
	client, err := cloudfirestore.NewClient(ctx, c.project, dial.Options(c.firestore)...)
	if err != nil {
		c.t.Fatal(err)
	}
	documents, err := client.CollectionGroup(ledger.EffectsCollection).Documents(ctx).GetAll()
	if err != nil {
		c.t.Fatal(err)
	}
	extraWrites, err := client.CollectionGroup("extra").Documents(ctx).GetAll()
	if err != nil {
		c.t.Fatal(err)
	}
	byKey, byPath := map[string]*writtenEffect{}, map[string]*writtenEffect{}
	for _, document := range documents {
		e := &writtenEffect{updated: document.UpdateTime}
		if err := document.DataTo(&e.Effect); err != nil {
			c.t.Errorf("%s: %v", document.Ref.Path, err)
		}
		byKey[e.IdempotencyKey], byPath[document.Ref.Path] = e, e
	}
	for _, document := range extraWrites {
		r := extraWrite{created: document.CreateTime, updated: document.UpdateTime}
		if err := document.DataTo(&r); err != nil {
			c.t.Errorf("%s: %v", document.Ref.Path, err)
		}
		e := byPath[document.Ref.Parent.Parent.Path]
		if e == nil {
			c.t.Errorf("%s rode with no effect", document.Ref.Path)
			continue
		}
		e.extraWrites = append(e.extraWrites, r)
	}
	if err := client.Close(); err != nil {
		c.t.Error(err)
	}
	return byKey
}

// audit holds the effects of operations against what the receiver got and which commits were made,
// and returns how many requests repeated what had been done, by the moment at which the process
// before had been killed.
func (f *fleet) audit(names []string, effects map[string]*writtenEffect) map[moment]int {
	if len(effects) != len(names) {
		f.t.Errorf("%d effects of %d operations", len(effects), len(names))
	}
	problems, _, _ := f.receiver.audit()
	for _, problem := range problems {
		f.t.Errorf("doubled: %s", problem)
	}
	killed, repeats := map[string]moment{}, map[moment]int{}
	for _, v := range f.killer.struck {
		killed[v.process] = v.moment
		f.auditVictim(v)
	}
	for _, name := range names {
		key := operation.IdempotencyKey(operation.Key(name), "publish")
		f.auditEffect(key, effects[key])
		attempts, _ := f.receiver.of(key)
		for i, a := range attempts {
			if a.repeat {
				repeats[killed[attempts[i-1].process]]++
			}
		}
	}
	return repeats
}

// auditEffect: it is DONE by one commit, that of the last attempt, and its extra document was written in
// that commit and in no other.
func (f *fleet) auditEffect(key string, e *writtenEffect) {
	finishes := f.store.finishes(key)
	attempts, body := f.receiver.of(key)
	if e == nil || len(attempts) == 0 || len(finishes) != 1 || len(e.extraWrites) != 1 {
		f.t.Errorf("%s: %d requests, finished by %+v, and in the ledger it is %+v", key, len(attempts), finishes, e)
		return
	}
	if err := f.checkHistory(e.Effect); e.State != ledger.EffectDone || err != nil {
		f.t.Errorf("%s is %s: %v", key, e.State, err)
	}
	if string(body) != e.Payload {
		f.t.Errorf("%s: the receiver did %q, its payload is %q", key, body, e.Payload)
	}
	last := attempts[len(attempts)-1]
	if by := finishes[0]; by.process != last.process || by.fence != int64(last.number) || by.fence != e.Fence {
		f.t.Errorf("%s: finished by %+v, the last request was %+v, the fence is %d", key, by, *last, e.Fence)
	}
	if r := e.extraWrites[0]; r.Fence != e.Fence || r.Owner != e.Owner || !r.created.Equal(e.updated) ||
		!r.updated.Equal(e.updated) {
		f.t.Errorf(
			"%s: finished at %v by %s, fence %d, but the document that rode was made at %v and written at %v by %s, fence %d",
			key, e.updated, e.Owner, e.Fence, r.created, r.updated, r.Owner, r.Fence)
	}
}

// auditVictim: what a killed process was at was done again where its outcome had not reached the
// ledger, and only there.
func (f *fleet) auditVictim(v victim) {
	attempts, _ := f.receiver.of(v.key)
	sent, again := false, false
	for i, a := range attempts {
		if a.process == v.process {
			sent, again = true, i < len(attempts)-1
		}
	}
	want := points()[slices.IndexFunc(points(), func(p point) bool { return p.moment == v.moment })]
	if sent != want.sent || again != want.again {
		f.t.Errorf("%s was killed at the moment %q of %s: sent %v, want %v; sent again %v, want %v",
			v.process, v.moment, v.key, sent, want.sent, again, want.again)
	}
}
