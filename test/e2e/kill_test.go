package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// TestSIGKILL: two processes on one file are killed with SIGKILL, each at once started again, at
// every interesting moment of their work and at any other, while Gemini loses, repeats, delays and
// reorders. Nothing is lost [L2, R5, R6], no side effect is repeated but where its outcome could
// not reach the ledger [S3, S4, S6], and nothing goes back [M5, M9].
func TestSIGKILL(t *testing.T) {
	t.Parallel()
	each, operations := harness.Soak(t, 1, 6, 60), harness.Soak(t, 30, 120, 1200)
	kills := map[moment]*quota{
		anyMoment:    {kills: each, every: 1},
		delivering:   {kills: each, every: 14, offset: 5},
		registering:  {kills: each, every: 20, offset: 10},
		lookingUp:    {kills: each, every: 8, offset: 4},
		beforeEffect: {kills: each, every: 12, offset: 2},
		duringEffect: {kills: each, every: 12, offset: 6},
		afterEffect:  {kills: each, every: 12, offset: 10},
	}
	const seed = 7
	f := newFleet(t, inFile(t), 2, geminisim.Config{
		Seed: seed, Faults: geminisim.Harsh(), Speed: harshSpeed(t), RunTime: [2]time.Duration{time.Minute, 8 * time.Minute},
	})
	f.receiver.refuseEvery = 13
	f.settings = []string{
		"OPLEDGER_CLAIM_TTL=8s",
	} // a process that waits for the processor has two seconds to extend its lease
	f.killer.hunt(kills)
	outcome := f.play(operations)
	outcome.wasHard(t, kills, each)
}

// wasHard checks that a play has proven something: that it killed at every moment, and that Gemini was not kind.
func (o outcome) wasHard(t *testing.T, kills map[moment]*quota, each int) {
	t.Helper()
	total := 0
	for m := range kills {
		total += o.kills[m]
		if o.kills[m] < (each+1)/2 {
			t.Errorf("killed %d times at the moment %q, want %d: the run was too short to prove anything",
				o.kills[m], m, each)
		}
	}
	if all := each * len(kills); total < all*3/4 {
		t.Errorf("killed %d times, want %d: the run was too short to prove anything", total, all)
	}
	s := o.stats
	if s.Lost == 0 || s.Repeated == 0 || s.Late == 0 || s.Reordered == 0 || o.byReconcile == 0 || o.repeats == 0 {
		t.Errorf("too kind a run: %+v, %d by reconciliation, %d repeats", s, o.byReconcile, o.repeats)
	}
	t.Logf("%d kills %v; %s", total, o.kills, o)
}

// TestTwoProcessesShareTheWork: two processes on one file, neither is killed, and both do some of it [S3, M6].
func TestTwoProcessesShareTheWork(t *testing.T) {
	t.Parallel()
	f := newFleet(t, inFile(t), 2, geminisim.Config{
		Seed: 3, Faults: geminisim.Normal(), Speed: 800, RunTime: [2]time.Duration{time.Minute, 4 * time.Minute},
	})
	f.settings = []string{"OPLEDGER_CLAIM_TTL=1m"} // no process dies, and a busy machine must not look as if one had
	outcome := f.play(60)
	for _, p := range f.processes() {
		did := map[string]int{}
		for _, line := range p.lines() {
			did[line.Event+" "+line.Outcome]++
			if line.Seized || line.Outcome == "lease-lost" {
				t.Errorf("%s lost an effect although no process died: %+v", p.id, line)
			}
		}
		if did["ingest applied"] == 0 || did["effect finished"] == 0 || did["register created"] == 0 ||
			did["reconcile pass"] == 0 {
			t.Errorf("%s did not do its share: %v", p.id, did)
		}
	}
	if outcome.repeats != 0 {
		t.Errorf("%d effects were repeated", outcome.repeats)
	}
	t.Logf("%s; %s", outcome, verdict(t))
}

// verdict says whether the promises, which the test has checked by then, were kept.
func verdict(t *testing.T) string {
	if t.Failed() {
		return "the promises were not kept"
	}
	return "lost 0, doubled 0, regressed 0"
}

// An outcome is what a play came to, beside the promises.
type outcome struct {
	operations, unregistered, byReconcile, repeats, looks int
	excused                                               map[excuse]int
	stats                                                 geminisim.Stats
	kills                                                 map[moment]int
	took                                                  time.Duration
}

func (o outcome) String() string {
	return fmt.Sprintf(
		"%d operations in %.1f s, %d settled by reconciliation, %d unregistered; "+
			"deliveries %d, lost %d, repeated %d, late %d, retried %d; "+
			"effects repeated with the same bytes %d, attempts repeated although answered %v; ledger read %d times",
		o.operations, o.took.Seconds(), o.byReconcile, o.unregistered,
		o.stats.Deliveries, o.stats.Lost, o.stats.Repeated, o.stats.Late, o.stats.Retries,
		o.repeats, o.excused, o.looks,
	)
}

// play submits and registers n operations, ten in a second, and goes on while the killer has not
// killed as often as it should: how many occasions a run offers depends on how fast the machine is.
// It then waits until all is done and the last delivery was made, ends the processes with SIGTERM,
// and holds everything against what the simulator and the receiver know.
func (f *fleet) play(n int) outcome {
	t := f.t
	began := time.Now()
	f.start()
	f.within(patience, "the first instance is ready", func() bool { return f.instances[0].process().url() != "" })
	watch := f.watch()
	roaming, rest := context.WithCancel(t.Context())
	defer rest()
	var roam sync.WaitGroup
	roam.Go(func() { f.killer.roam(roaming, time.Second) })

	names, err := f.submitAll(100*time.Millisecond, func(submitted int) bool {
		return submitted < n || submitted < 5*n && f.killer.hungry()
	})
	if err != nil {
		t.Fatal(err)
	}
	f.within(5*time.Minute, "every operation is settled and its effect done",
		func() bool { return watch.rested() >= len(names) })
	rest()
	roam.Wait()
	o := outcome{operations: len(names), kills: f.killer.rest()}
	// A refused delivery is retried after at most an hour of Gemini, and a deploy window or a lost answer refuses one in
	// three.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := f.sim.WaitFor(ctx, func(s geminisim.Stats) bool { return s.Open == 0 }); err != nil {
		t.Fatal(err)
	}
	f.endGently()
	watch.look(t.Context())
	o.took, o.stats = time.Since(began), f.sim.Stats()
	f.check(watch, names, &o)
	return o
}

// submitAll starts a batch at Gemini every so often, as long as another is wanted, and registers
// each under the names returned.
func (f *fleet) submitAll(every time.Duration, another func(submitted int) bool) (map[string]bool, error) {
	var mu sync.Mutex
	names := map[string]bool{}
	var group errgroup.Group
	group.SetLimit(8)
	pace := time.NewTicker(every)
	defer pace.Stop()
	for i := 0; another(i); i++ {
		<-pace.C
		group.Go(func() error {
			name, err := f.submit(fmt.Sprintf("nightly-%d", i))
			// A 503 means that the answer was lost: the batch runs and is never registered.
			for err != nil && strings.HasPrefix(err.Error(), "503") {
				name, err = f.submit(fmt.Sprintf("nightly-%d", i))
			}
			if err != nil {
				return err
			}
			mu.Lock()
			names[name] = true
			mu.Unlock()
			return f.register(name)
		})
	}
	return names, group.Wait()
}

// endGently ends every process with SIGTERM; each must exit with 0.
func (f *fleet) endGently() {
	f.mu.Lock()
	f.ending = true
	f.mu.Unlock()
	for _, i := range f.instances {
		p := i.process()
		if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
			f.t.Errorf("ending %s: %v", p.id, err)
		}
	}
	for _, i := range f.instances {
		p := i.process()
		select {
		case <-p.done:
		case <-time.After(patience):
			f.t.Fatalf("%s does not end", p.id)
		}
		if !p.endedWell() {
			f.t.Errorf("%s ended with %v:\n%s", p.id, p.err, p.tail())
		}
	}
}

// check holds the ledger against the truth: lost 0, doubled 0, regressed 0.
func (f *fleet) check(watch *watch, names map[string]bool, o *outcome) {
	t := f.t
	records, looks := watch.seen()
	o.looks = looks
	keys := map[string]bool{}
	for _, key := range f.receiver.keys() {
		keys[key] = true
	}
	for _, batch := range f.sim.Batches() {
		if !names[batch.Name] {
			// It is not registered: no effect, whatever was delivered about it [W5].
			if keys[operation.IdempotencyKey(operation.Key(batch.Name), "publish")] {
				t.Errorf("the effect of %s ran, which is not registered", batch.Name)
			}
			o.unregistered++
			continue
		}
		story, err := watch.ledger.Operations.Show(t.Context(), operation.Key(batch.Name))
		if err != nil {
			t.Errorf("lost: %v", err)
			continue
		}
		if story.Record.SettledBy == operation.Reconcile {
			o.byReconcile++
		}
		key := operation.IdempotencyKey(operation.Key(batch.Name), "publish")
		check := checkStory
		if f.receiver.refusesForGood(key) {
			check = checkDead
		}
		err = check(story, batch, key, keys[key])
		if len(story.Effects) == 1 {
			err = errors.Join(err, f.checkHistory(story.Effects[0]))
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", batch.Name, err, f.saidAbout(string(story.Record.Key)))
		}
		delete(keys, key)
		if records[operation.Key(batch.Name)].State != story.Record.State {
			t.Errorf("%s is listed as %s and shown as %s", batch.Name, records[operation.Key(batch.Name)].State,
				story.Record.State)
		}
	}
	for key := range keys {
		t.Errorf("the receiver accepted %s, which belongs to no operation", key)
	}
	problems, repeats, excused := f.receiver.audit()
	for _, problem := range problems {
		t.Errorf("doubled: %s\n%s", problem, f.saidAbout(problem))
	}
	o.repeats, o.excused = repeats, excused
	for _, p := range f.processes() {
		if noise := slices.DeleteFunc(slices.DeleteFunc(p.noise, p.toldAtStart), p.diskAtStart); len(noise) > 0 {
			t.Errorf("%s said what is no log:\n%s", p.id, strings.Join(noise, "\n"))
		}
	}
}

func checkStory(story ledger.Story, batch geminisim.OperationInfo, key string, accepted bool) error {
	var problems []error
	fail := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if "BATCH_STATE_"+string(story.Record.State) != string(batch.State) {
		fail("wrong: the ledger says %s, Gemini %s", story.Record.State, batch.State)
	}
	if !accepted {
		fail("lost: its effect never reached the receiver")
	}
	if len(story.Effects) != 1 || story.Effects[0].State != ledger.EffectDone ||
		story.Effects[0].IdempotencyKey != key {
		fail("its effects are %+v", story.Effects)
	}
	if !story.Record.DueAt.IsZero() || story.Record.ExpireAt.IsZero() {
		fail("closed, but due at %v and expiring at %v", story.Record.DueAt, story.Record.ExpireAt)
	}
	return errors.Join(problems...)
}
