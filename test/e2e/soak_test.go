package e2e

import (
	"cmp"
	"context"
	"flag"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/test/harness"
)

// TestSoak: two of everything, of this revision and of one that is older, on each store, while
// processes are killed with SIGKILL and replaced by the other revision, the disk is full, both
// emulators are restarted, the receiver misbehaves, and Gemini loses, repeats, delays and reorders.
// After each trouble the work goes on. In the end everything rests: nothing is lost [L2, R1, R5,
// R6], repeated after a process said that it was done [S3, S4, S6], or went back [M5, M9, L5]. What is
// dead is listed, and what is open is due [L4]. The processes that lived all the time have not grown.
//
// The level decides how long trouble is made, and not how long anything may take. The short one
// makes each trouble once with half the processes, none of which is old or spared; the emulators
// are cut off from them and run on. Outside of the gate the short one is on SQLite alone.
func TestSoak(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		d := newDisk(t)
		b := inFile(t)
		if d != nil {
			b = inFolder(t, d.dir)
		}
		f := newFleet(t, b, harness.Soak(t, 2, 3, 3), soakConfig(t, 21))
		f.instances[0].spared = thorough(t)
		s := newSoak(t, f, serveRoom)
		if d != nil {
			s.troubles = append(s.troubles, trouble{"a full disk", func() { s.fullDisk(d) }})
		}
		s.run()
	})
	t.Run("firestore", func(t *testing.T) {
		harness.ThoroughOnly(t, "the soak on Firestore") // TestCloudSIGKILL kills the same processes over it
		t.Parallel()
		c := newSoakedCloud(t)
		f := c.fleet(t, soakConfig(t, 22))
		s := newSoak(t, f, functionsRoom)
		s.troubles = append(s.troubles, c.troubles()...)
		for range harness.Soak(t, 1, 2, 2) {
			stop := f.schedule(time.Second)
			t.Cleanup(stop)
		}
		s.run()
	})
}

// soakFor makes a soak longer or shorter than its level does: go test -run TestSoak ./test/e2e -soak 25m
var soakFor = flag.Duration("soak", 0, "how long TestSoak makes trouble; 0: as long as OPLEDGER_SOAK says")

// With "none" the soak goes without its full disk, or without its earlier revision, where all that
// it needs is required.
const envDisk, envHistory = "SOAK_DISK", "SOAK_HISTORY"

// thorough reports whether the level has time for programs and emulators of the soak's own.
func thorough(t *testing.T) bool { return harness.Soak(t, false, true, true) }

// harshSpeed is how many times as fast Gemini is whose faults are harsh: the last redelivery comes after half an hour.
func harshSpeed(t *testing.T) float64 { return harness.Soak[float64](t, 800, 200, 200) }

func soakConfig(t *testing.T, seed uint64) geminisim.Config {
	return geminisim.Config{
		Seed: seed, Faults: geminisim.Harsh(), Speed: harshSpeed(t), RunTime: [2]time.Duration{time.Minute, 8 * time.Minute},
	}
}

// A soak is a fleet that meets every trouble in turn, for as long as the level says and at least once.
type soak struct {
	*fleet
	revisions []program
	troubles  []trouble
	met       map[string]int // by the trouble
	watch     *watch
	names     map[string]bool // of the operations that were submitted
}

// A trouble returns when it is over.
type trouble struct {
	name string
	make func()
}

func newSoak(t *testing.T, f *fleet, room string) *soak {
	t.Helper()
	binary(t) // that of the operator's list, too, is built from the source as it is now
	s := &soak{fleet: f, met: map[string]int{}, names: map[string]bool{}}
	if thorough(t) {
		var err error
		if s.revisions, err = buildSoak(room); err != nil {
			t.Fatal(err)
		}
		if len(s.revisions) == 1 {
			harness.Without(t, envHistory, "no earlier revision is in the soak: git, or history of an earlier day, is missing")
		}
		f.programs = s.turn
	}
	f.lease = 8 * time.Second
	f.settings = []string{"OPLEDGER_CLAIM_TTL=" + f.lease.String()}
	f.effect = ", timeout: 3s"
	f.receiver.misbehaves = inTurns(9)
	f.receiver.hopelessEvery = 10
	const always = 1 << 30
	f.killer.hunt(map[moment]*quota{
		anyMoment:    {kills: always, every: 1},
		delivering:   {kills: always, every: 60, offset: 10},
		registering:  {kills: always, every: 40, offset: 5},
		lookingUp:    {kills: always, every: 60, offset: 10},
		reconciling:  {kills: always, every: 40, offset: 10},
		pushed:       {kills: always, every: 80, offset: 10},
		beforeEffect: {kills: always, every: 40, offset: 4},
		duringEffect: {kills: always, every: 40, offset: 8},
		afterEffect:  {kills: always, every: 40, offset: 12},
	})
	s.troubles = []trouble{{"killed", s.killEach}, {"replaced by another revision", s.replace}}
	return s
}

// turn chooses the revision of a process. An instance that is killed or replaced goes on with the
// other revision; one that is spared is of the newest.
func (s *soak) turn(id string) program {
	for _, i := range s.instances {
		if number, ok := strings.CutPrefix(id, i.name); ok && !i.spared {
			n, err := strconv.Atoi(number)
			if err != nil {
				s.t.Errorf("the process %q has no number", id)
			}
			return s.revisions[n%len(s.revisions)]
		}
	}
	return s.revisions[0]
}

// killEach kills a process of each kind, whatever it does.
func (s *soak) killEach() {
	struck := map[string]bool{}
	for _, i := range s.instances {
		if kind := i.process().kind(); !i.spared && !struck[kind] {
			struck[kind] = true
			s.within(patience, "a "+kind+" is killed", func() bool { return s.killer.kill(anyMoment, i.process().id) })
		}
	}
}

// replace ends every process that is not spared, as a deployment does, with SIGTERM.
func (s *soak) replace() {
	for _, i := range s.instances {
		if i.spared {
			continue
		}
		p := i.process()
		p.leave()
		s.within(patience, "the next process of "+i.name+" is ready", func() bool {
			next := i.process()
			return next != p && next.url() != ""
		})
	}
}

// fullDisk fills the disk until processes have met that, some of them as they start, and frees it.
func (s *soak) fullDisk(d *disk) {
	before := s.metFullDisk()
	s.downWhile(func() {
		d.fill()
		s.killEach()
		s.within(patience, "a full disk is met three times", func() bool { return s.metFullDisk() >= before+3 })
		d.free()
	})
}

// metFullDisk counts what met a full disk: writes, and starts, since all processes may be killed meanwhile.
func (s *soak) metFullDisk() (n int) {
	for _, p := range s.processes() {
		p.mu.Lock()
		n += p.diskFull
		p.mu.Unlock()
		if p.refusedByDisk() {
			n++
		}
	}
	return n
}

// run plays it all, checks it, and logs what it came to.
func (s *soak) run() {
	t, began := s.t, time.Now()
	s.start()
	for _, i := range s.instances {
		s.within(patience, i.name+" is ready", func() bool { return i.process().url() != "" })
	}
	s.watch = s.fleet.watch()
	s.submit(func(submitted int) bool { return submitted < 10 })
	s.rest()
	first := s.measure()
	s.trouble()
	var half map[string]usage
	if thorough(t) { // else no process lives all the time
		s.rest()
		half = s.measure()
		s.trouble()
	}
	s.killer.rest()
	s.rest()
	last := s.flat(half)
	deliveries := s.sim.Stats()
	s.endGently()
	s.watch.look(t.Context())
	o := outcome{kills: s.killer.rest(), operations: len(s.names), stats: deliveries, took: time.Since(began)}
	s.check(s.watch, s.names, &o)
	dead := s.checkListed()
	kinds := s.wasHard(dead)
	t.Logf("%s; %s\nrevisions %s; kills %v, %v; troubles %v; %d dead, all listed\n%s", o, verdict(t), s.of(), kinds,
		o.kills, s.met, dead, grown(first, half, last))
}

// trouble makes every trouble in turn, under load and random kills, for half of the soak's time.
func (s *soak) trouble() {
	lasts := cmp.Or(*soakFor, harness.Soak(s.t, 0, 45*time.Second, time.Hour)) / 2
	more := harness.Soak(s.t, 3, 10, 30) // operations that must be done after each trouble
	roaming, over := context.WithCancel(s.t.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer over()
	group.Go(func() { s.submit(func(int) bool { return roaming.Err() == nil }) })
	group.Go(func() {
		s.killer.roam(roaming, harness.Soak(s.t, 2*time.Second, 4*time.Second, 15*time.Second))
	})
	began := time.Now()
	for i := 0; i < len(s.troubles) || time.Since(began) < lasts; i++ {
		next := s.troubles[i%len(s.troubles)]
		next.make()
		s.met[next.name]++
		done := s.receiver.count()
		s.within(patience, "the work goes on after: "+next.name,
			func() bool { return s.receiver.count() >= done+more })
	}
}
