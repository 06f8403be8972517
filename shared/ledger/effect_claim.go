package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Verdict is the result of a claim, in words that logs count [S9].
type Verdict string

// The verdicts of a claim.
const (
	Claimed    Verdict = "claimed"     // the caller holds the effect and must finish or release it
	Absent     Verdict = "absent"      // there is no such effect: nothing to do
	Done       Verdict = "done"        // it is done: nothing to do
	Dead       Verdict = "dead"        // it was given up: nothing to do until an operator replays it
	Held       Verdict = "held"        // another worker holds it: neither success nor failure
	BackingOff Verdict = "backing-off" // it failed: not claimable before RetryAfter
	Exhausted  Verdict = "exhausted"   // too many attempts ended without an outcome: it is dead now
)

// A Grant is the result of a claim.
type Grant struct {
	Verdict Verdict
	Lease   Lease // of a claimed effect; the zero Lease otherwise
	// RetryAfter is how long the effect cannot be claimed, where it is held or backing off.
	RetryAfter time.Duration
	// LastError is the last failure of an effect that was not claimed; empty where none failed.
	LastError string
}

// A Lease is the right to run one effect once. It ends ClaimTTL after the claim or its last
// extension, by the store's clock. From then on any worker may claim the effect, and every write
// with this lease then fails with ErrLeaseLost [S6].
type Lease struct {
	Operation operation.Key
	Effect    string
	Owner     string // the nonce of the claim
	Fence     int64  // the fencing token: higher than that of every claim before
	Attempt   int    // 1 for the first
	Seized    bool   // the previous holder's lease ran out
	// FailingSince is when the first of the attempts failed that count against the effect; zero:
	// none.
	FailingSince   time.Time
	IdempotencyKey string
	Payload        []byte // the same on every attempt
	// Progress is how far the items had come at the claim, of an effect that runs once per item.
	Progress ItemProgress
}

// ErrLeaseLost: another worker has claimed the effect, or its state has changed. Nothing was
// written. The ledger does not know what the caller did; the next worker repeats it, with the same
// idempotency key.
var ErrLeaseLost = errors.New("the lease was lost")

// Claim requests the right to run an effect. Of any number of concurrent callers exactly one is
// granted it [S3]. The decision rests on the effect's document, and on those of its sibling runs
// [S8]. The operation's record is read, too: an effect is not run whose end could not be recorded
// there, such as one whose record is ErrNewer [L6]. Errors: as Ingest. A claim whose answer was lost
// recognizes its own write.
func (l Effects) Claim(ctx context.Context, key operation.Key, name string) (Grant, error) {
	var grant Grant
	owner, seized := l.nonce(), false
	err := l.withEffect(ctx, key, name, "claiming", func(effect Effect, read Snapshot) error {
		docs, now := read.Documents, read.ReadTime
		if !docs[0].Exists() {
			grant = Grant{Verdict: Absent}
			return nil
		}
		var err error
		grant, err = l.claim(ctx, docs, effect, now, owner, &seized)
		return err
	}, OperationPath(key))
	if err != nil {
		return Grant{}, err
	}
	return grant, nil
}

// claim is one try of Claim. docs are the effect's and its record's. seized is kept between tries:
// after a commit whose answer was lost the effect no longer shows it.
func (l *protocol) claim(
	ctx context.Context, docs []Document, effect Effect, now time.Time, owner string, seized *bool,
) (Grant, error) {
	if verdict, early := effect.verdict(now, owner); verdict != Claimed {
		return Grant{Verdict: verdict, RetryAfter: early, LastError: effect.LastError}, nil
	}
	if effect.State == EffectClaimed && effect.Owner == owner { // our own commit, whose answer was lost
		return Grant{Verdict: Claimed, Lease: leaseOf(effect, *seized)}, nil
	}
	rec, err := l.readRecord(docs[1])
	if err != nil {
		return Grant{}, err
	}
	*seized = effect.State == EffectClaimed
	effect.Owner, effect.Unanswered = owner, 0
	if *seized {
		effect.closeAttempt(AttemptInterrupted, nil, effect.ClaimableAt)
		effect.Interrupted++
		if effect.Interrupted >= interruptionsPerAttempt*l.settings.MaxAttempts {
			effect.LastError = effect.exhausted()
			return Grant{Verdict: Exhausted, LastError: effect.LastError},
				l.end(ctx, docs[0], docs[1], effect, EffectDead, now, nil)
		}
	}
	others, err := l.siblingRuns(ctx, docs[1], rec, effect, now)
	if err != nil {
		return Grant{}, err
	}
	if others.claimed {
		return Grant{Verdict: Held, RetryAfter: others.until, LastError: effect.LastError}, nil
	}
	effect.State = EffectClaimed
	before := effect.Fence
	effect.Fence = l.settings.nextFence(before)
	effect.Attempts++
	effect.begin(before, now)
	effect.ClaimableAt = now.Add(l.settings.ClaimTTL)
	effect.DueAt = effect.ClaimableAt
	if err := l.commit(ctx, append(others.writes, l.writeEffect(docs[0], effect))...); err != nil {
		return Grant{}, err
	}
	return Grant{Verdict: Claimed, Lease: leaseOf(effect, *seized)}, nil
}

// verdict returns the result that a claim by owner would have, and the time until the effect can be
// claimed where it is held or backing off.
func (e Effect) verdict(now time.Time, owner string) (Verdict, time.Duration) {
	early := max(e.ClaimableAt.Sub(now), 0)
	switch {
	case e.State == EffectDone:
		return Done, 0
	case e.State == EffectDead && e.Owner == owner: // by this claim, whose answer was lost
		return Exhausted, 0
	case e.State == EffectDead:
		return Dead, 0
	case e.State == EffectClaimed && e.Owner != owner && early > 0:
		return Held, early
	case e.State == EffectPending && early > 0:
		return BackingOff, early
	default:
		return Claimed, 0
	}
}

// interruptionsPerAttempt times MaxAttempts is how often an effect's lease may run out before it is
// DEAD. A process that is killed for lack of memory takes its neighbours' attempts with it, so an
// interruption weighs less than a failure. Still, an effect that kills every process must not do so
// for ever.
const interruptionsPerAttempt = 3

// exhausted is the LastError of an effect whose attempts ended with their process, and so left no
// error.
func (e Effect) exhausted() string {
	why := fmt.Sprintf("%d attempts ended with their process, before their outcome was recorded", e.Interrupted)
	if e.LastError != "" {
		why += "; the last error before: " + e.LastError
	}
	return shorten(why)
}

// ClaimStatus returns the verdict that a claim would have now, and writes nothing: Claimed where it
// would be granted. Errors: the store's; calling it again is safe.
func (l Effects) ClaimStatus(ctx context.Context, key operation.Key, name string) (Verdict, error) {
	snapshot, err := l.store.Get(ctx, EffectPath(key, name))
	if err != nil {
		return "", fmt.Errorf("reading the claim of effect %s of %s: %w", name, key, err)
	}
	doc := snapshot.Documents[0]
	effect, err := readEffect(doc)
	if err != nil || !doc.Exists() {
		return Absent, err
	}
	verdict, _ := effect.verdict(snapshot.ReadTime, "")
	return verdict, nil
}

func leaseOf(effect Effect, seized bool) Lease {
	var failing Failing
	if effect.Failing != nil {
		failing = *effect.Failing
	}
	return Lease{
		Operation: effect.Operation, Effect: effect.Name, Owner: effect.Owner, Fence: effect.Fence,
		Attempt: effect.Attempts, Seized: seized, FailingSince: failing.Since,
		IdempotencyKey: effect.IdempotencyKey, Payload: []byte(effect.Payload), Progress: effect.progress(),
	}
}

// Extend makes the lease end ClaimTTL from now. Errors: ErrLeaseLost; else as Ingest.
func (l Effects) Extend(ctx context.Context, lease Lease) error {
	return l.withLease(ctx, lease, "extending", func(effect Effect, read Snapshot) error {
		docs, now := read.Documents, read.ReadTime
		if !effect.heldBy(lease) {
			return ErrLeaseLost
		}
		effect.ClaimableAt = now.Add(l.settings.ClaimTTL)
		effect.DueAt = effect.ClaimableAt
		return l.commit(ctx, l.writeEffect(docs[0], effect))
	})
}

// withLease is withEffect for the lease's effect.
func (l *protocol) withLease(
	ctx context.Context, lease Lease, doing string,
	try func(effect Effect, read Snapshot) error, and ...Path,
) error {
	return l.withEffect(ctx, lease.Operation, lease.Effect, doing, try, and...)
}

// withEffect runs try, as retry does, with the effect as it is stored. read has the effect's document
// and those of the paths in and. An effect that does not exist is the zero Effect.
func (l *protocol) withEffect(
	ctx context.Context, key operation.Key, name, doing string,
	try func(effect Effect, read Snapshot) error, and ...Path,
) error {
	what := fmt.Sprintf("%s effect %s of %s", doing, name, key)
	paths := append([]Path{EffectPath(key, name)}, and...)
	return l.retry(ctx, what, func(int) error {
		snapshot, err := l.store.Get(ctx, paths...)
		if err != nil {
			return err
		}
		effect, err := readEffect(snapshot.Documents[0])
		if err != nil {
			return err
		}
		return try(effect, snapshot)
	})
}

func (e Effect) heldBy(lease Lease) bool { return e.State == EffectClaimed && e.lastHeldBy(lease) }

// lastHeldBy reports whether lease is the last claim of the effect, even if it was ended or
// released since.
func (e Effect) lastHeldBy(lease Lease) bool { return e.Owner == lease.Owner && e.Fence == lease.Fence }
