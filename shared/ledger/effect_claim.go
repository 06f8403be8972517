package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Verdict says what became of a claim, in words that logs count [S9].
type Verdict string

// The verdicts of a claim.
const (
	Claimed    Verdict = "claimed"     // the caller holds the effect and must finish or release it
	Absent     Verdict = "absent"      // there is no such effect: nothing to do
	Done       Verdict = "done"        // its outcome is known: nothing to do
	Dead       Verdict = "dead"        // it was given up: nothing to do until a person says so
	Held       Verdict = "held"        // somebody else holds it: neither success nor failure
	BackingOff Verdict = "backing-off" // it failed a moment ago: come back after RetryAfter
	Exhausted  Verdict = "exhausted"   // too many attempts ended with their process: it is dead now
)

// A Grant is the answer to a claim.
type Grant struct {
	Verdict Verdict
	Lease   Lease // of a claimed effect; the zero Lease otherwise
	// RetryAfter is how long the effect cannot be claimed, where it is held or backing off.
	RetryAfter time.Duration
	// LastError is why the effect failed last, where it was not claimed; empty where it never did.
	LastError string
}

// A Lease is the right to run one effect once. It ends ClaimTTL after the claim or its last extension, by the store's clock;
// from then on anybody may take the effect over, and every write with this lease fails with ErrLeaseLost [S6].
type Lease struct {
	Operation operation.Key
	Effect    string
	Owner     string // random for each claim
	Fence     int64  // the fencing token: higher than that of every claim before
	Attempt   int    // 1 for the first
	Seized    bool   // the holder before let its lease run out
	// FailingSince is when the first attempt failed of those that count against the effect; zero where none did.
	FailingSince   time.Time
	IdempotencyKey string
	Payload        []byte // the same bytes on every attempt
	// Progress is how far the items had come at the claim, of an effect that runs once per item.
	Progress ItemProgress
}

// ErrLeaseLost: somebody else has taken the effect over, or ended it. Nothing was written; what the caller did is not known
// to the ledger and its successor does it again, with the same idempotency key.
var ErrLeaseLost = errors.New("the lease was lost")

// Claim asks for the right to run an effect. Of any number of callers at once exactly one is granted it [S3]; the decision
// rests on the effect's document alone [S8]. Errors: as Ingest; a claim whose answer was lost is recognised as one's own.
func (l *Ledger) Claim(ctx context.Context, key operation.Key, name string) (Grant, error) {
	var grant Grant
	owner, seized := l.nonce(), false
	err := l.decide(ctx, fmt.Sprintf("claiming effect %s of %s", name, key), func(int) error {
		var err error
		grant, err = l.claim(ctx, key, name, owner, &seized)
		return err
	})
	if err != nil {
		return Grant{}, err
	}
	return grant, nil
}

// claim is one try. seized is kept between tries: after a commit whose answer was lost the effect no longer tells.
func (l *Ledger) claim(ctx context.Context, key operation.Key, name, owner string, seized *bool) (Grant, error) {
	snapshot, err := l.store.Get(ctx, EffectPath(key, name))
	if err != nil {
		return Grant{}, err
	}
	doc, now := snapshot.Documents[0], snapshot.ReadTime
	if !doc.Exists() {
		return Grant{Verdict: Absent}, nil
	}
	effect, err := readEffect(doc)
	if err != nil {
		return Grant{}, err
	}
	if verdict, early := effect.verdict(now, owner); verdict != Claimed {
		return Grant{Verdict: verdict, RetryAfter: early, LastError: effect.LastError}, nil
	}
	if effect.State == EffectClaimed && effect.Owner == owner { // our own commit, whose answer was lost
		return Grant{Verdict: Claimed, Lease: leaseOf(effect, *seized)}, nil
	}
	*seized = effect.State == EffectClaimed
	effect.Owner, effect.Unanswered = owner, 0
	if *seized {
		effect.Interrupted++
		if effect.Interrupted >= interruptionsPerAttempt*l.settings.MaxAttempts {
			effect.LastError = effect.exhausted()
			return Grant{Verdict: Exhausted, LastError: effect.LastError}, l.die(ctx, doc, effect, now)
		}
	}
	others, err := l.company(ctx, effect, now)
	if err != nil {
		return Grant{}, err
	}
	if others.claimed {
		return Grant{Verdict: Held, RetryAfter: others.until, LastError: effect.LastError}, nil
	}
	effect.State = EffectClaimed
	effect.Fence = l.settings.nextFence(effect.Fence)
	effect.Attempts++
	effect.ClaimableAt = now.Add(l.settings.ClaimTTL)
	effect.DueAt = effect.ClaimableAt
	if err := l.store.Commit(ctx, append(others.writes, l.writeEffect(doc, effect))...); err != nil {
		return Grant{}, err
	}
	return Grant{Verdict: Claimed, Lease: leaseOf(effect, *seized)}, nil
}

// verdict says what a claim by owner would come to, and how much too early it is where it is held or backing off.
func (e Effect) verdict(now time.Time, owner string) (Verdict, time.Duration) {
	early := max(e.ClaimableAt.Sub(now), 0)
	switch {
	case e.State == EffectDone:
		return Done, 0
	case e.State == EffectDead && e.Owner == owner: // by this very claim, whose answer was lost
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

// interruptionsPerAttempt: so many times MaxAttempts may an effect's attempts end with their process before it is dead. One
// process that is killed for lack of memory takes its innocent neighbours' attempts with it, so that they count for less than
// failures; yet what kills every process that tries it must not do so for ever.
const interruptionsPerAttempt = 3

// exhausted says why an effect is dead whose attempts ended with their process: such an attempt leaves no error behind.
func (e Effect) exhausted() string {
	why := fmt.Sprintf("%d attempts ended with their process, before their outcome was recorded", e.Interrupted)
	if e.LastError != "" {
		why += "; the last error before: " + e.LastError
	}
	return shorten(why)
}

// ClaimStatus returns what a claim would come to now, and writes nothing: Claimed where it would be
// granted. Errors: as Ingest.
func (l *Ledger) ClaimStatus(ctx context.Context, key operation.Key, name string) (Verdict, error) {
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
		FailingSince: failing.Since, Progress: effect.progress(), Operation: effect.Operation, Effect: effect.Name, Owner: effect.Owner, Fence: effect.Fence,
		Attempt: effect.Attempts, Seized: seized, IdempotencyKey: effect.IdempotencyKey, Payload: []byte(effect.Payload),
	}
}

// Extend makes the lease end ClaimTTL from now. Errors: ErrLeaseLost; else as Ingest.
func (l *Ledger) Extend(ctx context.Context, lease Lease) error {
	return l.withEffect(ctx, lease, "extending", func(effect Effect, docs []Document, now time.Time) error {
		if !effect.heldBy(lease) {
			return ErrLeaseLost
		}
		effect.ClaimableAt = now.Add(l.settings.ClaimTTL)
		effect.DueAt = effect.ClaimableAt
		return l.store.Commit(ctx, l.writeEffect(docs[0], effect))
	})
}

// withEffect decides with the lease's effect, and its operation's record where wanted, as they stand.
func (l *Ledger) withEffect(ctx context.Context, lease Lease, doing string, try func(effect Effect, docs []Document, now time.Time) error, and ...Path) error {
	what := fmt.Sprintf("%s effect %s of %s", doing, lease.Effect, lease.Operation)
	paths := append([]Path{EffectPath(lease.Operation, lease.Effect)}, and...)
	return l.decide(ctx, what, func(int) error {
		snapshot, err := l.store.Get(ctx, paths...)
		if err != nil {
			return err
		}
		effect, err := readEffect(snapshot.Documents[0])
		if err != nil {
			return err
		}
		return try(effect, snapshot.Documents, snapshot.ReadTime)
	})
}

func (e Effect) heldBy(lease Lease) bool { return e.State == EffectClaimed && e.lastHeldBy(lease) }

// lastHeldBy reports whether nobody has claimed the effect since lease was granted, even if it was ended or released.
func (e Effect) lastHeldBy(lease Lease) bool { return e.Owner == lease.Owner && e.Fence == lease.Fence }
