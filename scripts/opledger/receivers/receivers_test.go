package receivers_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/receivers"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// A world is a ledger in a file whose operations have two effects each.
type world struct {
	*testing.T
	*ledger.Ledger
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC)}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), func() time.Time { return w.now })
	w.do(err)
	t.Cleanup(func() { w.do(store.Close()) })
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{
		{Name: "publish", On: []operation.State{operation.Succeeded}},
		{Name: "bill", On: []operation.State{operation.Succeeded}},
	}
	w.Ledger, err = ledger.New(store, settings, ledger.Options{})
	w.do(err)
	return w
}

func (w *world) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// ends makes operations that succeed.
func (w *world) ends(keys ...operation.Key) {
	w.Helper()
	for _, key := range keys {
		name := operation.Name{Key: key, Resource: string(key)}
		_, err := w.Operations.Register(w.Context(), ledger.Registration{Name: name, SubmittedAt: w.now})
		w.do(err)
		_, err = w.Operations.Ingest(w.Context(), operation.Event{
			Name: name, DeliveryID: string(key), Source: operation.Webhook, State: operation.Succeeded, UpdateTime: w.now,
		})
		w.do(err)
	}
}

// attempt claims an effect, and ends the attempt: done, dead of an error, or failed with it.
func (w *world) attempt(key operation.Key, effect string, dead bool, why string) {
	w.Helper()
	grant, err := w.Effects.Claim(w.Context(), key, effect)
	w.do(err)
	switch {
	case why == "":
		err = w.Effects.Finish(w.Context(), grant.Lease)
	case dead:
		err = w.Effects.MarkDead(w.Context(), grant.Lease, errors.New(why))
	default:
		_, err = w.Effects.Release(w.Context(), grant.Lease, errors.New(why), 0)
	}
	w.do(err)
}

func (w *world) read(o receivers.Options) receivers.Receivers {
	w.Helper()
	all, err := receivers.Read(w.Context(), w.Reading(), o)
	w.do(err)
	return all
}

// summary is a group in a few words.
func summary(g receivers.Group) string {
	rates := ""
	for _, r := range g.Rates {
		rates += fmt.Sprintf(" %d/%d", r.Done, r.Of)
	}
	return fmt.Sprintf("%s at %q: %d dead, %d failing, %d waiting, %d running,%s; %s", g.Effect, g.Receiver, len(g.Dead),
		len(g.Failing), len(g.Waiting), g.Running, rates, g.LastError)
}

// TestGroups: effects are grouped by the host that their errors name, else by that of their effect's settings or
// of its other errors; since when, the newest error and the rates are over all of them.
func TestGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const down, gone = "https://a.example answered 503", "https://a.example:8443 answered 410 Gone"
	w.ends("batches/old")
	w.attempt("batches/old", "publish", false, "")
	w.now = w.now.Add(2 * time.Hour)
	w.ends("batches/1", "batches/2", "batches/3", "batches/4")
	first := w.now
	w.attempt("batches/1", "publish", true, down)
	w.now = w.now.Add(time.Minute)
	w.attempt("batches/2", "publish", false, down+" again")
	w.attempt("batches/3", "publish", false, "")
	w.attempt("batches/1", "bill", true, gone)
	w.attempt("batches/2", "bill", false, "its lease ran out")
	_, err := w.Effects.Claim(t.Context(), "batches/3", "bill")
	w.do(err)
	all := w.read(receivers.Options{})
	var got []string
	for _, g := range all.Groups {
		got = append(got, summary(g))
	}
	want := []string{
		`publish at "a.example": 1 dead, 1 failing, 1 waiting, 0 running, 1/4 2/5; ` + down + ` again`,
		`bill at "a.example:8443": 1 dead, 1 failing, 2 waiting, 1 running, 0/4 0/5; ` + gone,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	if since := all.Of("a.example", "publish").Since; !since.Equal(first) {
		t.Errorf("since %v, want %v", since, first)
	}
	if all.Partial {
		t.Error("it says that it read a part")
	}
	set := w.read(receivers.Options{Hosts: map[string]string{"publish": "b.example"}})
	if g := set.Of("b.example", "publish"); len(g.Waiting) != 1 || len(g.Dead) != 1 || len(g.Failing) != 1 {
		t.Errorf("all are of the settings' receiver, whatever an error names: %s", summary(g))
	}
	troubled := w.read(receivers.Options{Troubled: true})
	if g := troubled.Of("a.example", "publish"); len(g.Waiting) != 0 || g.Rates != nil || len(g.Dead) != 1 ||
		len(g.Failing) != 1 {
		t.Errorf("of those that failed alone: %s", summary(g))
	}
	_, err = w.Effects.Replay(t.Context(), ledger.Message{Operation: "batches/1", Effect: "publish", ID: "m1"})
	w.do(err)
	open := w.read(receivers.Options{Troubled: true, Open: true})
	if g := open.Of("a.example", "publish"); len(g.Waiting) != 2 || g.Rates != nil || len(g.Dead) != 0 {
		t.Errorf("one that was reopened is of the receiver that it died of: %s", summary(g))
	}
}

// TestPartial: of each list no more is read than allowed, and that is said.
func TestPartial(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 7 {
		key := operation.Key(fmt.Sprint("batches/", i))
		w.ends(key)
		w.attempt(key, "publish", true, "https://a.example answered 400")
	}
	all := w.read(receivers.Options{Most: 5})
	if !all.Partial || !all.PartialRates || len(all.Of("a.example", "publish").Dead) != 5 {
		t.Errorf("partial %v, %s", all.Partial, summary(all.Groups[0]))
	}
	if all := w.read(receivers.Options{}); all.Partial || len(all.Of("a.example", "publish").Dead) != 7 {
		t.Errorf("partial %v, %s", all.Partial, summary(all.Groups[0]))
	}
}

// TestPartialRates: where only the completions are more than is read, no number of effects is a lower bound.
func TestPartialRates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 7 {
		key := operation.Key(fmt.Sprint("batches/", i))
		w.ends(key)
		w.attempt(key, "publish", false, "")
		w.attempt(key, "bill", false, "")
	}
	if all := w.read(receivers.Options{Most: 5}); all.Partial || !all.PartialRates || len(all.Groups) != 0 {
		t.Errorf("partial %v, of the rates %v, %v", all.Partial, all.PartialRates, all.Groups)
	}
}

// TestUnread: a store that cannot be read is an error, and no empty list.
func TestUnread(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := receivers.Read(ctx, w.Reading(), receivers.Options{}); err == nil {
		t.Error("no error")
	}
}
