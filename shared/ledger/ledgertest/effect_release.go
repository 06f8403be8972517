package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// fail claims the effect "publish", lets it fail, and returns the Failure.
func (w *world) fail(retryAfter time.Duration) ledger.Failure {
	w.Helper()
	return w.failed(w.ledger(), w.granted(publish), retryAfter)
}

// failed releases a lease after a failure.
func (w *world) failed(l *ledger.Ledger, lease ledger.Lease, retryAfter time.Duration) ledger.Failure {
	w.Helper()
	failure, err := l.Effects.Release(w.ctx, lease, errFailed, retryAfter)
	if err != nil {
		w.Fatalf("Release: %v", err)
	}
	return failure
}

// An unreadError says that a result could not be read.
type unreadError struct {
	error
	lost bool
}

func (e unreadError) ResultLost() bool { return e.lost }

// unread claims the effect "publish", whose result cannot be read, waits for an hour, and reports
// whether the effect is dead. lost: Gemini says that it does not have the result.
func (w *world) unread(lost bool) bool {
	w.Helper()
	cause := fmt.Errorf("fetching %w", unreadError{errors.New("files/a: 404"), lost})
	failure, err := w.ledger().Effects.Release(w.ctx, w.granted(publish), cause, time.Hour)
	if err != nil {
		w.Fatalf("Release: %v", err)
	}
	w.store.Advance(failure.Wait)
	return failure.Dead
}

// failHourly fails n times, once an hour.
func (w *world) failHourly(n int) {
	w.Helper()
	for i := range n {
		failure := w.fail(time.Hour)
		if failure.Dead {
			w.Fatalf("dead with failure %d: %+v", i+1, failure)
		}
		w.store.Advance(failure.Wait)
	}
}

// crash claims the effect "publish" n times, by workers that die.
func (w *world) crash(n int) {
	w.Helper()
	for range n {
		w.granted(publish)
		w.store.Advance(w.settings.ClaimTTL)
	}
}

// gaveUp checks that the failure was the last of so many, and that the effect is dead of it.
func (w *world) gaveUp(failure ledger.Failure, times int) {
	w.Helper()
	said := failure.LastError
	if !strings.HasPrefix(said, fmt.Sprintf("failed attempts: %d within ", times)) ||
		!strings.HasSuffix(said, "; the last error: "+errFailed.Error()) {
		w.Errorf("it died of %q", said)
	}
	effect := w.effect(publish)
	equal(w, "the cause", effect.Cause(), errFailed.Error())
	equal(w, "the error", failure, ledger.Failure{Since: effect.Failing.Since, Dead: true, LastError: effect.LastError})
	w.deadForGood(said)
}

var effectRelease = join([]ledgerTest{
	{"given up only after MaxAttempts failures and after RetryFor [S2, S4]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 3, 24*time.Hour
		w.succeed()
		w.failHourly(24) // the last 23 hours after the first
		lease := w.granted(publish)
		if since := lease.FailingSince; since.Before(w.start) || since.After(w.start.Add(time.Minute)) {
			w.Errorf("failing since %v", since)
		}
		w.gaveUp(w.failed(w.ledger(), lease, 0), 25)
		equal(w, "the claim after", w.claim(publish).Verdict, ledger.Dead)
		w.lost(ledger.Lease{Operation: w.name.Key, Effect: publish, Owner: "another", Fence: lease.Fence})
	}},
	{"failing for RetryFor, but fewer than MaxAttempts times, is retried [S2]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 10, 2*time.Hour
		w.succeed()
		w.failHourly(9)
		w.gaveUp(w.fail(0), 10)
	}},
	{"with a RetryFor of 0 attempts alone count [S2]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 2, 0
		w.succeed()
		w.store.Advance(w.fail(0).Wait)
		w.gaveUp(w.fail(0), 2)
	}},
	{"after a pause it is tried first, however long it has been failing [S2]", func(w *world) {
		for i, ends := range []func(ledger.Lease){
			func(lease ledger.Lease) { w.finish(lease) },
			func(lease ledger.Lease) { equal(w, "dead", w.failed(w.ledger(), lease, 0).Dead, true) },
		} {
			w.name = nameOf(w, fmt.Sprint("batches/", i))
			w.succeed()
			for range w.settings.MaxAttempts {
				w.store.Advance(w.fail(0).Wait)
			}
			w.store.Advance(26 * time.Hour)
			ends(w.granted(publish))
		}
	}},
	{"after a machine slept for a weekend an effect still has its other attempts, at their back-offs [S4, R4]",
		func(w *world) {
			w.succeed()
			w.fail(0)
			w.store.Advance(62 * time.Hour)
			woke, failure := w.now(), w.fail(0)
			equal(w, "it is reported at once for how long it failed", failure.Alert, true)
			for times := 2; !failure.Dead; times++ {
				w.store.Advance(failure.Wait)
				if failure = w.fail(0); failure.Dead {
					w.gaveUp(failure, times+1)
				}
			}
			equal(w, "failures", w.effect(publish).Failing.Times, w.settings.MaxAttempts)
			if awake := w.now().Sub(woke); awake < 100*time.Minute {
				w.Errorf("given up %v after the machine woke", awake)
			}
		}},
	{"a result is lost only after Gemini said so for a day, more than once, however often it failed [S4]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 2, 0
		w.succeed()
		for range 24 { // the last 23 hours after the first
			equal(w, "dead within a day", w.unread(true), false)
		}
		equal(w, "since", w.effect(publish).Lost.Since, w.effect(publish).Failing.Since)
		equal(w, "dead after a day", w.unread(true), true)
		said := w.effect(publish).LastError
		equal(w, "it says since when", strings.HasPrefix(said, "results lost: Gemini has said so for 24h0m"), true)
		equal(w, "the cause", strings.Contains(said, "; the last error: "+w.effect(publish).Cause()), true)
		w.deadForGood(said)
	}},
	{"what says nothing of a result does not make it there again, and one that was read does [S4]", func(w *world) {
		w.settings.MaxAttempts = 100
		w.succeed()
		w.unread(true)
		w.unread(false)
		equal(w, "since", w.effect(publish).Lost.Since, w.effect(publish).Failing.Since)
		w.failHourly(24) // at its receiver: the result was read
		equal(w, "read", w.effect(publish).Lost == nil, true)
		equal(w, "dead of the first after that", w.unread(true), false)
	}},
	{"a permanent failure is dead at once, and counted as one [S2]", func(w *world) {
		w.succeed()
		w.store.Advance(w.fail(0).Wait)
		w.markDead(publish)
		w.deadForGood(errFailed.Error())
		equal(w, "failures", w.effect(publish).Failing.Times, 2)
	}},
	{"attempts that end with their process are counted apart [S2]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 2, 0
		w.succeed()
		w.crash(2)
		w.store.Advance(w.fail(0).Wait)
		w.crash(4)
		const why = "6 leases expired before an outcome was recorded; " +
			"the last error before: the handler failed"
		for _, want := range []ledger.Verdict{ledger.Exhausted, ledger.Dead} {
			grant := w.claim(publish)
			equal(w, "claim", grant.Verdict, want)
			equal(w, "its last error", grant.LastError, why)
		}
		w.deadForGood(why)
	}},
	{"attempts that all ended with their process leave no error [S2]", func(w *world) {
		w.settings.MaxAttempts = 1
		w.succeed()
		w.crash(3)
		equal(w, "the claim that finds it", w.claim(publish).Verdict, ledger.Exhausted)
		w.deadForGood("3 leases expired before an outcome was recorded")
	}},
	{"reopened, it has all its attempts and all its time [G5, S2]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 2, time.Hour
		w.succeed()
		for i := range 2 {
			w.crash(5)
			w.failHourly(1)
			equal(w, "dead", w.fail(0).Dead, true)
			w.store.Advance(day)
			equal(w, "replay", w.replay(w.asked(publish, fmt.Sprint("m", i))).Outcome, ledger.Reopened)
			effect := w.effect(publish)
			equal(w, "interrupted", effect.Interrupted, 0)
			equal(w, "failing", effect.Failing == nil, true)
		}
	}},
	{"failing for an hour is reported once [S4]", func(w *world) {
		w.succeed()
		told := map[int]bool{}
		for i := range 12 {
			failure := w.fail(10 * time.Minute)
			if failure.Alert {
				told[i] = true
			}
			w.store.Advance(failure.Wait)
		}
		equal(w, "with a failure", fmt.Sprint(told), fmt.Sprint(map[int]bool{6: true}))
		w.markDead(publish)
		w.replay(w.asked(publish, "m1"))
		w.failHourly(1)
		equal(w, "reopened", w.fail(0).Alert, true)
	}},
	{"an effect that gets further counts its failures from 0 [S4]", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 2, 0
		w.succeed()
		for i := range int64(4) {
			lease := w.granted(publish)
			w.recordItems(lease, lease.Progress, numbered(i, 1))
			failure := w.failed(w.ledger(), lease, 0)
			equal(w, "dead", failure.Dead, false)
			w.store.Advance(failure.Wait)
		}
		equal(w, "without coming further", w.fail(0).Dead, true)
	}},
},
	unanswered("Release: given up, once [S2]", func(w *world, lossy func() *ledger.Ledger) {
		w.settings.MaxAttempts, w.settings.RetryFor = 1, 0
		w.succeed()
		w.gaveUp(w.failed(lossy(), w.granted(publish), 0), 1)
		equal(
			w, "the record's effects", fmt.Sprint(w.record().Effects),
			fmt.Sprint(map[string]operation.EffectStatus{publish: operation.EffectDead}),
		)
	}),
	lostly("Release: failing for an hour is reported [S4]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		w.failHourly(1)
		failure := w.failed(l, w.granted(publish), 0)
		if !failure.Alert || failure.Wait <= 0 || failure.Since.After(w.start.Add(time.Minute)) {
			w.Errorf("%+v", failure)
		}
	}),
)
