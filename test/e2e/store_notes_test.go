package e2e

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A change is what a commit makes of an effect. The zero change is about none.
type change struct {
	key, owner       string
	fence            int64
	claims, finishes bool
}

// kept is what the store keeps of an effect, as far as its storeDoor saw it made.
type kept struct {
	owner    string
	finishes []finish
	answered bool // the process that finished has answered the message
}

// A finish is a commit that made an effect DONE.
type finish struct {
	process string
	fence   int64
}

// read finds the effect in a commit's writes.
func (d *storeDoor) read(request []byte) (c change, err error) {
	var commit firestorepb.CommitRequest
	if err := proto.Unmarshal(request, &commit); err != nil {
		return change{}, fmt.Errorf("reading a commit: %w", err)
	}
	for _, write := range commit.GetWrites() {
		document := write.GetUpdate()
		if path.Base(path.Dir(document.GetName())) != ledger.EffectsCollection {
			continue
		}
		fields := document.GetFields()
		c = change{
			key: fields["idempotencyKey"].GetStringValue(), owner: fields["owner"].GetStringValue(),
			fence: fields["fence"].GetIntegerValue(),
		}
		switch ledger.EffectState(fields["state"].GetStringValue()) {
		case ledger.EffectClaimed:
			c.claims = d.owner(c.key) != c.owner // else it is an extension
		case ledger.EffectDone:
			c.finishes = true
		}
	}
	return c, nil
}

func (d *storeDoor) owner(key string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.of(key).owner
}

// of is called with the lock held.
func (d *storeDoor) of(key string) *kept {
	if d.effects[key] == nil {
		d.effects[key] = &kept{}
	}
	return d.effects[key]
}

// note remembers a change that was made.
func (d *storeDoor) note(c change, process string) {
	if c.key == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	effect := d.of(c.key)
	effect.owner = c.owner
	if c.finishes {
		effect.finishes = append(effect.finishes, finish{process, c.fence})
	}
}

// finishes returns the commits that made an effect DONE.
func (d *storeDoor) finishes(key string) []finish {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.of(key).finishes)
}

// done reports whether the store knows that an effect is done.
func (d *storeDoor) done(key string) bool { return len(d.finishes(key)) > 0 }

// finished reports whether the store was told so by that process.
func (d *storeDoor) finished(process, key string) bool {
	return slices.ContainsFunc(d.finishes(key), func(f finish) bool { return f.process == process })
}

// doneCount counts the effects that are done.
func (d *storeDoor) doneCount() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, effect := range d.effects {
		if len(effect.finishes) > 0 {
			n++
		}
	}
	return n
}

// acknowledges reports whether what a process answered to a push is the first that Pub/Sub would
// hear of an effect which that process has finished, and has said so; and the effect's key.
func (d *storeDoor) acknowledges(p *process, status int, push []byte) (key string, ends bool) {
	var pushed struct {
		Message struct{ Data []byte }
	}
	if d == nil || status/100 != 2 || json.Unmarshal(push, &pushed) != nil {
		return "", false
	}
	m, err := ledger.ParseMessage(pushed.Message.Data)
	if err != nil {
		return "", false
	}
	key = operation.IdempotencyKey(m.Operation, m.Effect)
	if !d.finished(p.id, key) || !slices.Contains(p.about(string(m.Operation)), "finished") {
		return key, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	ends = !d.of(key).answered
	d.of(key).answered = true
	return key, ends
}
