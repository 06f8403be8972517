package e2e

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// A moment is where in its work a process is killed.
type moment string

const (
	anyMoment    moment = "any moment"
	delivering   moment = "taking in a delivery" // before, in and after the commit
	registering  moment = "registering"          // the same
	lookingUp    moment = "asking Gemini"        // after the look-up was counted, before its answer
	beforeEffect moment = "claimed"              // the effect not done
	duringEffect moment = "effect done"          // its answer not sent
	afterEffect  moment = "effect answered"      // its end not recorded, or just so
	reconciling  moment = "called by the scheduler"
	pushed       moment = "pushed to" // before, in and after the claim

	// Those that only a storeDoor can tell.
	claiming      moment = "claim made, its answer lost"
	finishing     moment = "finish sent, not made"
	finishLost    moment = "finish made, its answer lost"
	acknowledging moment = "finished, not acknowledged"
)

// A quota is how often to kill at a moment, and at which of its occasions: every so many, the first one after offset.
type quota struct{ kills, every, offset int }

// A killer kills processes with SIGKILL. It kills nothing until hunt is called.
type killer struct {
	fleet *fleet
	// approach calls strike where a roaming killer may. Nil: it may always.
	approach func(p *process, strike func() bool)

	mu     sync.Mutex
	random *rand.Rand
	quotas map[moment]*quota
	kills  map[moment]int
	struck []victim
	grace  sync.WaitGroup // kills that are yet to come
}

// A victim is a process that was killed in the middle of one piece of work.
type victim struct {
	moment       moment
	process, key string
}

// newKiller makes the killer before the fleet's servers, whose requests ask it whether to kill.
func newKiller(f *fleet, seed uint64) *killer {
	return &killer{fleet: f, random: rand.New(rand.NewPCG(seed, 3)), kills: map[moment]int{}}
}

// hunt begins the killing.
func (k *killer) hunt(quotas map[moment]*quota) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.quotas = quotas
}

// due counts an occasion and reports whether to kill at it.
func (k *killer) due(m moment) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	q := k.quotas[m]
	if q == nil || q.kills == 0 {
		return false
	}
	if q.offset--; q.offset > 0 {
		return false
	}
	q.offset = q.every
	q.kills--
	return true
}

// hungry reports whether some moment has not had all its kills.
func (k *killer) hungry() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, q := range k.quotas {
		if q.kills > 0 {
			return true
		}
	}
	return false
}

// strike kills the process if the moment is due, and reports whether it did. The process is dead
// when it returns. key is that of the effect that it was at, if any.
func (k *killer) strike(m moment, process, key string) bool {
	if !k.due(m) || !k.kill(m, process) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.struck = append(k.struck, victim{m, process, key})
	return true
}

// strikeWithin is strike after a random while of at most d, without waiting for it: the work that
// the process has just been given is then at any of its points.
func (k *killer) strikeWithin(m moment, process string, d time.Duration) {
	if !k.due(m) {
		return
	}
	k.mu.Lock()
	wait := time.Duration(k.random.Int64N(int64(d)))
	k.mu.Unlock()
	k.grace.Go(func() {
		<-time.After(wait)
		k.kill(m, process)
	})
}

func (k *killer) kill(m moment, process string) bool {
	killed := k.fleet.kill(process)
	k.mu.Lock()
	defer k.mu.Unlock()
	if killed {
		k.kills[m]++
	} else if q := k.quotas[m]; q != nil {
		q.kills++ // it was dead already: another time
	}
	return killed
}

// roam kills one of the processes every now and then, whatever it does, also while it starts.
func (k *killer) roam(ctx context.Context, every time.Duration) {
	for {
		k.mu.Lock()
		wait := every/2 + time.Duration(k.random.Int64N(int64(every)))
		victim := k.fleet.instances[k.random.IntN(len(k.fleet.instances))]
		k.mu.Unlock()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		p := victim.process()
		strike := func() bool { return k.strike(anyMoment, p.id, "") }
		switch {
		case p == nil:
		case k.approach != nil:
			k.approach(p, strike)
		default:
			strike()
		}
	}
}

// rest ends the killing and returns how often it killed, by moment.
func (k *killer) rest() map[moment]int {
	k.mu.Lock()
	k.quotas = nil
	k.mu.Unlock()
	k.grace.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kills
}
