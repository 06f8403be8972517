package local

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// A scene is a correct run of one operation; a test then breaks one promise.
type scene struct {
	t     *testing.T
	audit *audit
	store ledger.Store
	key   operation.Key
}

func newScene(t *testing.T) *scene {
	t.Helper()
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	sim := geminisim.New(geminisim.Config{})
	t.Cleanup(func() {
		sim.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	settings := ledger.DefaultSettings()
	settings.Grace, settings.Interval = time.Second, time.Second // as divided by a speed
	settings.Rules = []ledger.Rule{{Name: publishEffect, On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sim.Script("job", geminisim.Script{Hold: geminisim.StateSucceeded})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1beta/models/m:batchGenerateContent",
		strings.NewReader(`{"batch":{"displayName":"job","inputConfig":{"fileName":"files/x"}}}`))
	r.Header.Set("X-Goog-Api-Key", "k")
	sim.Handler().ServeHTTP(httptest.NewRecorder(), r)
	key := operation.Key(sim.Batches()[0].Name)

	s := &scene{t: t, store: store, key: key, audit: &audit{
		ledger: l, receiver: newReceiver(1, "none"), sim: sim, messages: newUnreliable(1, "none"), wanted: 1,
		acked: func() []operation.Key { return []operation.Key{key} },
	}}
	name := operation.Name{Key: key, Resource: string(key)}
	if _, err := l.Operations.Register(ctx, ledger.Registration{Name: name}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Operations.Ingest(ctx, operation.Event{
		Name: name, DeliveryID: "1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

// runEffect does the effect and records it.
func (s *scene) runEffect() {
	s.t.Helper()
	grant, err := s.audit.ledger.Effects.Claim(s.t.Context(), s.key, publishEffect)
	if err == nil {
		s.audit.receiver.receive(grant.Lease.IdempotencyKey, string(grant.Lease.Payload))
		err = s.audit.ledger.Effects.Finish(s.t.Context(), grant.Lease)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// markEffectDead makes the effect dead.
func (s *scene) markEffectDead() {
	s.t.Helper()
	grant, err := s.audit.ledger.Effects.Claim(s.t.Context(), s.key, publishEffect)
	if err == nil {
		err = s.audit.ledger.Effects.MarkDead(s.t.Context(), grant.Lease, errors.New("no"))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// force writes a record without the ledger's checks; nil deletes it.
func (s *scene) force(change func(operation.Record) *operation.Record) {
	s.t.Helper()
	path := ledger.OperationPath(s.key)
	snapshot, err := s.store.Get(context.Background(), path)
	if err != nil {
		s.t.Fatal(err)
	}
	var rec operation.Record
	if err := snapshot.Documents[0].Decode(&rec); err != nil {
		s.t.Fatal(err)
	}
	write := ledger.Write{Path: path, Token: snapshot.Documents[0].Token}
	if changed := change(rec); changed != nil {
		write.Data = *changed
	}
	if _, err := s.store.Commit(context.Background(), write); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) scan() {
	s.t.Helper()
	if err := s.audit.scan(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// TestAuditSeesBrokenPromises: each broken promise is found, and a kept one is not reported [M9,
// S3, S7, L1].
func TestAuditSeesBrokenPromises(t *testing.T) {
	t.Parallel()
	key := func(s *scene) string { return operation.IdempotencyKey(s.key, publishEffect) }
	for _, c := range []struct {
		name string
		play func(*scene)
		want Summary // of the promises
		done bool
	}{
		{"all is well", func(s *scene) { s.runEffect() }, Summary{}, true},
		{"the effect is open", func(*scene) {}, Summary{Unfinished: 1}, false},
		{"the effect is dead", func(s *scene) { s.markEffectDead() }, Summary{Lost: 1}, false},
		{"it was not submitted", func(s *scene) {
			s.runEffect()
			s.audit.wanted = 3
		}, Summary{Unfinished: 2}, false},
		{"it was told to be registered and never was", func(s *scene) {
			s.runEffect()
			s.audit.wanted, s.audit.acked = 2, func() []operation.Key { return []operation.Key{s.key, "batches/another"} }
		}, Summary{Lost: 1}, false},
		{"the ledger says done, the receiver knows nothing", func(s *scene) {
			s.runEffect()
			s.audit.receiver = newReceiver(1, "none")
		}, Summary{Lost: 1}, true},
		{"the receiver accepted, the ledger does not know", func(s *scene) {
			s.audit.receiver.receive(key(s), "x")
		}, Summary{Unfinished: 1}, false},
		{"it is not registered", func(s *scene) {
			s.runEffect()
			s.force(func(r operation.Record) *operation.Record { r.Registered = false; return &r })
		}, Summary{Lost: 1, Unregistered: 1}, false},
		{"the receiver accepted twice", func(s *scene) {
			s.runEffect()
			s.audit.receiver.receive(key(s), "x")
		}, Summary{Doubled: 1}, true},
		{"rolled back", func(s *scene) {
			s.runEffect()
			s.scan()
			s.force(func(r operation.Record) *operation.Record { r.State = operation.Running; return &r })
		}, Summary{Unfinished: 1, Regressed: 1}, false},
		{"rolled back for a while", func(s *scene) {
			s.runEffect()
			s.scan()
			s.force(func(r operation.Record) *operation.Record { r.State = operation.Running; return &r })
			s.scan()
			s.force(func(r operation.Record) *operation.Record { r.State = operation.Succeeded; return &r })
		}, Summary{Regressed: 1}, true},
		{"another end", func(s *scene) {
			s.runEffect()
			s.scan()
			s.force(func(r operation.Record) *operation.Record { r.State = operation.Failed; return &r })
		}, Summary{Regressed: 1, Wrong: 1}, true},
		{"gone", func(s *scene) {
			s.runEffect()
			s.scan()
			s.force(func(operation.Record) *operation.Record { return nil })
		}, Summary{Lost: 1, Regressed: 1}, false},
		{"settled with another state than at Gemini", func(s *scene) {
			s.runEffect()
			s.force(func(r operation.Record) *operation.Record { r.State = operation.Expired; return &r })
		}, Summary{Wrong: 1}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			c.play(s)
			s.scan()
			got := s.audit.summary(time.Second)
			if got.Lost != c.want.Lost || got.Unfinished != c.want.Unfinished || got.Doubled != c.want.Doubled ||
				got.Regressed != c.want.Regressed ||
				got.Wrong != c.want.Wrong || got.Unregistered != c.want.Unregistered {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if clean := c.want.Lost+c.want.Doubled+c.want.Regressed+c.want.Wrong == 0; got.Clean() != clean {
				t.Errorf("Clean says %v of %+v", got.Clean(), got)
			}
			if s.audit.done() != c.done {
				t.Errorf("done says %v", s.audit.done())
			}
		})
	}
}

// TestAuditOfASharedStore: the audit ignores operations of earlier runs, but refuses a run with the
// same names.
func TestAuditOfASharedStore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.runEffect()
	s.audit.since = time.Now().Add(time.Hour)
	if err := s.audit.scan(t.Context()); err == nil || !strings.Contains(err.Error(), "--seed") {
		t.Errorf("the operations of a run with the same seed: %v", err)
	}
	s.audit.sim = geminisim.New(geminisim.Config{Seed: 2})
	defer s.audit.sim.Close()
	s.scan()
	if p := s.audit.progress(); p.Submitted != 0 {
		t.Errorf("%+v", p)
	}
}
