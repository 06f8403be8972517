package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Verdict says how a claim was answered, in words that logs count [S9].
type Verdict string

// The verdicts of a claim.
const (
	// Claimed: granted. The attempt ends with Finish, MarkDead or Release, or with Continue if the worker has
	// no time left for the rest of it.
	Claimed    Verdict = "claimed"
	Absent     Verdict = "absent"      // there is no such effect: nothing to do
	Done       Verdict = "done"        // it is done: nothing to do
	Dead       Verdict = "dead"        // it is dead: nothing to do until an operator replays it
	Held       Verdict = "held"        // another worker holds it, or a sibling run of it: try again after RetryAfter
	BackingOff Verdict = "backing-off" // it waits to be retried: try again after RetryAfter
	Exhausted  Verdict = "exhausted"   // this claim found too many expired leases, and marked it dead
)

// A Grant is what a claim returns, granted or not.
type Grant struct {
	Verdict Verdict
	Lease   Lease // of a granted claim; else zero
	// RetryAfter is the rest of the lease that prevents the claim, or of the back-off.
	RetryAfter time.Duration
	// LastError is the effect's last failure, or that its leases expired, if the claim was not granted; empty
	// if there is none.
	LastError string
}

// A Lease is the right to make one attempt at an effect. It expires ClaimTTL after the claim or its
// last extension, by the store's clock. An expired lease can still be extended, until a claim takes the
// effect over or marks it dead. From then on every write with it fails with ErrLeaseLost [S6].
type Lease struct {
	Operation operation.Key
	Effect    string
	Owner     string // the nonce of the claim
	Fence     int64  // the fencing token, which rises with every grant
	// Attempt numbers the attempt: [Effect].Attempts, this claim included. It starts again at 1 when the
	// effect is replayed, or after an item was done or refused for good.
	Attempt int
	Seized  bool // the previous lease expired without an outcome
	// FailingSince is the time of the first failure that counts against the effect; zero: there is none.
	FailingSince   time.Time
	IdempotencyKey string
	Payload        []byte // the same on every attempt
	// Trace is the trace of the operation's submission; empty: there is none.
	Trace operation.TraceParent
	// Progress says, of an effect that runs once per item, which items were done when it was claimed.
	Progress ItemProgress
}

// ErrLeaseLost: the caller no longer holds the effect, and this write was not made. The side effect may
// have happened. If the effect is still open, the next attempt repeats it, with the same idempotency key.
var ErrLeaseLost = errors.New("the lease was lost")

// Claim requests the right to run an effect. Of concurrent callers at most one is granted it [S3],
// because every write is conditional on the version that was read. It decides by the effect's document
// and those of its sibling runs: an effect's first run and its reruns have a document each, and at most
// one of them is CLAIMED at a time [S8]. An expired lease of a sibling refuses the claim, too, because its
// worker may extend it. Where nothing refuses, Claim fails if it cannot read the operation's record, for
// example because a newer revision wrote it (ErrNewer [L6]): the outcome could not be recorded there.
//
// A grant writes the effect. If the effect has siblings, the grant writes the record as well, so that
// concurrent claims of siblings conflict; to plan the first rerun writes the effect, and conflicts with its
// claim. Exhausted writes both. Any other verdict writes nothing.
//
// A commit whose answer was lost is recognized by the nonce of the call. If Claim returns an error,
// its commit may still have been made. Then no worker has the lease that was granted: other claims are
// Held until it expires, and it counts as one expired lease. Errors: as Ingest.
func (l Effects) Claim(ctx context.Context, key operation.Key, name string) (Grant, error) {
	var grant Grant
	owner, seized := l.nonce(), false
	err := l.withEffect(ctx, key, name, "claiming", func(effect Effect, read Snapshot) (err error) {
		if !read.Documents[0].Exists() {
			grant = Grant{Verdict: Absent}
			return nil
		}
		grant, err = l.claim(ctx, read.Documents, effect, read.ReadTime, owner, &seized)
		return err
	}, OperationPath(key))
	if err != nil {
		return Grant{}, err
	}
	return grant, nil
}

// claim is one try of Claim. docs[0] is the effect, docs[1] the operation's record. seized says whether the
// claim took over an expired lease. It outlives a try: if the next one finds our own commit made, whose
// answer was lost, the effect no longer shows it.
func (l *protocol) claim(
	ctx context.Context, docs []Document, effect Effect, now time.Time, owner string, seized *bool,
) (Grant, error) {
	if refused, wait := effect.refusal(now, owner); refused != Claimed {
		return Grant{Verdict: refused, RetryAfter: wait, LastError: effect.LastError}, nil
	}
	rec, err := l.readRecord(docs[1])
	if effect.State == EffectClaimed && effect.Owner == owner { // our own commit, whose answer was lost
		return Grant{Verdict: Claimed, Lease: leaseOf(effect, rec, *seized)}, nil
	}
	if err != nil {
		return Grant{}, err
	}
	*seized = effect.State == EffectClaimed
	effect.Owner, effect.Unanswered = owner, 0 // the messages that a pass sent for it have led to a claim
	if *seized {
		effect.closeAttempt(AttemptInterrupted, nil, effect.ClaimableAt)
		effect.Interrupted++
		if effect.Interrupted >= interruptionsPerAttempt*l.settings.MaxAttempts {
			effect.LastError = effect.exhaustedText()
			err := l.commitEnd(ctx, docs[0], docs[1], effect, EffectDead, now, nil)
			return Grant{Verdict: Exhausted, LastError: effect.LastError}, err
		}
	}
	others, err := l.siblingRuns(ctx, docs[1], rec, effect, now)
	if err != nil {
		return Grant{}, err
	}
	if others.claimed {
		return Grant{Verdict: Held, RetryAfter: others.wait, LastError: effect.LastError}, nil
	}
	effect.State = EffectClaimed
	previousFence := effect.Fence
	effect.Fence = l.settings.nextFence(previousFence)
	effect.Attempts++
	effect.openAttempt(previousFence, now) // in its history
	effect.claimableFrom(now.Add(l.settings.ClaimTTL))
	if err := l.commit(ctx, append(others.recordWrites, l.writeEffect(docs[0], effect))...); err != nil {
		return Grant{}, err
	}
	return Grant{Verdict: Claimed, Lease: leaseOf(effect, rec, *seized)}, nil
}

// claimableFrom sets when the effect may next be claimed. A pass sends a message for it then, by DueAt.
func (e *Effect) claimableFrom(at time.Time) { e.ClaimableAt, e.DueAt = at, at }

// refusal returns the verdict by which the effect's own document refuses a claim of owner, and how long
// to wait if it is Held or BackingOff. Claimed stands for no refusal: the effect may be claimed, or owner
// has already claimed it.
func (e Effect) refusal(now time.Time, owner string) (Verdict, time.Duration) {
	wait := max(e.ClaimableAt.Sub(now), 0)
	switch {
	case e.State == EffectDone:
		return Done, 0
	case e.State == EffectDead && owner != "" && e.Owner == owner: // by this claim, whose answer was lost
		return Exhausted, 0
	case e.State == EffectDead:
		return Dead, 0
	case e.State == EffectClaimed && e.Owner != owner && wait > 0:
		return Held, wait
	case e.State == EffectPending && wait > 0:
		return BackingOff, wait
	default:
		return Claimed, 0
	}
}

// interruptionsPerAttempt times MaxAttempts is the limit of an effect's expired leases. There is a limit,
// because an effect that kills every process must stop. It is higher than that of failures, because a
// process that is killed for lack of memory interrupts innocent attempts, too.
const interruptionsPerAttempt = 3

// exhaustedText is the LastError of an effect that is dead because its leases expired: an expired lease
// leaves no error of its own.
func (e Effect) exhaustedText() string {
	why := fmt.Sprintf("%d leases expired before an outcome was recorded", e.Interrupted)
	if e.LastError != "" {
		why += "; the last error before: " + e.LastError
	}
	return shorten(why)
}

// ClaimStatus returns the verdict that a claim would have now, as far as the effect's own document shows:
// Claimed if it may be granted. It writes nothing. Claim may decide otherwise: it also reads the sibling
// runs and the operation's record, and counts expired leases. Errors: the store's, or that the document
// cannot be read. Calling it again is safe.
func (l Effects) ClaimStatus(ctx context.Context, key operation.Key, name string) (Verdict, error) {
	effect, read, err := l.effect(ctx, EffectPath(key, name))
	if err != nil {
		return "", fmt.Errorf("reading the claim of effect %s of %s: %w", name, key, err)
	}
	if !read.Documents[0].Exists() {
		return Absent, nil
	}
	verdict, _ := effect.refusal(read.ReadTime, "")
	return verdict, nil
}

func leaseOf(effect Effect, rec operation.Record, seized bool) Lease {
	failing := cmp.Or(effect.Failing, &Failing{})
	return Lease{
		Operation: effect.Operation, Effect: effect.Name, Owner: effect.Owner, Fence: effect.Fence,
		Attempt: effect.Attempts, Seized: seized, FailingSince: failing.Since,
		IdempotencyKey: effect.IdempotencyKey, Payload: []byte(effect.Payload), Progress: effect.progress(),
		Trace: rec.TraceParent,
	}
}

// Extend makes the lease expire ClaimTTL from now, even if it has expired, unless it was claimed since.
// Errors: ErrLeaseLost; else as Ingest.
func (l Effects) Extend(ctx context.Context, lease Lease) error {
	return l.withLease(ctx, lease, "extending", func(effect Effect, read Snapshot) error {
		effect.claimableFrom(read.ReadTime.Add(l.settings.ClaimTTL))
		return l.commit(ctx, l.writeEffect(read.Documents[0], effect))
	})
}

// withEffect reads an effect and the documents at more in one snapshot, and runs try on them. After a
// conflict it does so again, as retry does. An effect that does not exist is the zero Effect.
func (l *protocol) withEffect(
	ctx context.Context, key operation.Key, name, doing string,
	try func(effect Effect, read Snapshot) error, more ...Path,
) error {
	what := fmt.Sprintf("%s effect %s of %s", doing, name, key)
	return l.retry(ctx, what, func(int) error {
		effect, read, err := l.effect(ctx, EffectPath(key, name), more...)
		if err != nil {
			return err
		}
		return try(effect, read)
	})
}

// withLease is withEffect for the effect of a lease. Where the lease is no longer held it returns ErrLeaseLost.
func (l *protocol) withLease(
	ctx context.Context, lease Lease, doing string,
	try func(effect Effect, read Snapshot) error, more ...Path,
) error {
	return l.withEffect(ctx, lease.Operation, lease.Effect, doing, func(effect Effect, read Snapshot) error {
		if !effect.heldBy(lease) {
			return ErrLeaseLost
		}
		return try(effect, read)
	}, more...)
}

func (e Effect) heldBy(lease Lease) bool { return e.State == EffectClaimed && e.lastHeldBy(lease) }

// lastHeldBy reports whether lease is of the latest claim of the effect, even if its attempt has ended.
func (e Effect) lastHeldBy(lease Lease) bool { return e.Owner == lease.Owner && e.Fence == lease.Fence }
