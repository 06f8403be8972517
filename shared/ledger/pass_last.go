package ledger

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// A Pass is the time, the result and the observations of a reconcile pass. The last one is stored
// with the marks, which every pass reads anyway: it costs one write and no read. Of overlapping
// passes the one that ended last stays.
type Pass struct {
	Began time.Time `json:"began" firestore:"began"` // by the store's clock
	Ended time.Time `json:"ended" firestore:"ended"`
	// Outcome sums up the rest.
	Outcome PassOutcome `json:"outcome" firestore:"outcome"`
	// Due, Checked and Settled count operations, and Requeued the effects that were published again.
	Due      int `json:"due" firestore:"due"`
	Checked  int `json:"checked" firestore:"checked"`
	Settled  int `json:"settled" firestore:"settled"`
	Requeued int `json:"effectsRequeued" firestore:"effectsRequeued"`
	// Errors counts the items that could not be handled, and Newer the documents that were left alone
	// because a newer revision wrote them.
	Errors int `json:"errors" firestore:"errors"`
	Newer  int `json:"newer" firestore:"newer"`
	// Error is the first of the Errors, in at most 200 bytes and without what looks like a credential.
	Error string `json:"error,omitempty" firestore:"error,omitempty"`
	// Answered counts the look-ups that Gemini answered. It is not stored.
	Answered int `json:"-" firestore:"-"`
	// Unanswered are the last look-ups where Gemini answered none of them; nil: it answered some, or was asked nothing.
	Unanswered *Unanswered `json:"-" firestore:"-"` // it is stored beside the pass
	// WrongSecret is a secret of Gemini's that the webhook does not verify with. The zero one: there is none such.
	// Nil: the pass could not compare them, and what is stored of it stays.
	WrongSecret *WrongSecret `json:"-" firestore:"-"` // it is stored beside the pass
	// SecretFitsAt is when the pass found that the webhook has a secret which ends as Gemini shows that it signs with.
	// Zero: it did not, and what is stored of it stays.
	SecretFitsAt time.Time `json:"-" firestore:"-"` // it is stored beside the pass
	// NoWebhook: the pass found that Gemini has no webhook at all, so that strangers alone call the one of serve.
	NoWebhook bool `json:"-" firestore:"-"` // it is stored beside the pass
	// Webhook is the health of the webhook, as the pass saw it.
	Webhook WebhookHealth `json:"webhook" firestore:"webhook"`
	// Effects says whether effects are paused; empty where no process that knows has stored it. It may
	// stand here before the first pass has ended [G5].
	Effects Pause `json:"effects,omitempty" firestore:"effects,omitempty"`
}

// Unanswered are look-ups to which Gemini gave no answer: it could not be reached, or refused.
type Unanswered struct {
	// Version is that of the marks that it is in: after an older revision's write it does not count.
	Version int64 `json:"version" firestore:"version"`
	LookUps int   `json:"lookUps" firestore:"lookUps"`
	// Reason is why, of the first of them, in a word that look-ups count, and Error its error as that of a Pass.
	Reason string `json:"reason" firestore:"reason"`
	Error  string `json:"error" firestore:"error"`
}

// A WrongSecret signs what Gemini delivers to a webhook, and is none that the webhook verifies with: every delivery is
// refused.
type WrongSecret struct {
	// Version is that of the marks that it is in: after an older revision's write it does not count.
	Version int64  `json:"version" firestore:"version"`
	Webhook string `json:"webhook" firestore:"webhook"` // its id at Gemini
	// Shown is what Gemini shows of the secret: its last characters.
	Shown string `json:"shown" firestore:"shown"`
	// Compared are the ids of the webhooks that a pass compared which does not know the webhook's address, twenty at most.
	Compared []string `json:"compared,omitempty" firestore:"compared,omitempty"`
}

// Among says which webhooks were compared, where the webhook's address is not known; else it is empty.
func (s WrongSecret) Among() string {
	if len(s.Compared) == 0 {
		return ""
	}
	return "without OPLEDGER_WEBHOOK_URL Gemini's webhooks were compared: " + strings.Join(s.Compared, ", ")
}

// IsZero reports whether no pass has ended: then a Pass says at most whether effects are paused.
func (p Pass) IsZero() bool { return p.Ended.IsZero() }

// A PassOutcome says how a pass ended, in words that pages and commands print.
type PassOutcome string

// The outcomes of a pass, the worst first. A pass has the worst that fits.
const (
	PassFailed PassOutcome = "failed" // nothing at all could be read
	PassErrors PassOutcome = "errors" // some items could not be handled; the next pass tries them again
	PassMore   PassOutcome = "more"   // it ended before everything due was handled
	PassDone   PassOutcome = "done"   // everything due was handled
)

// A WebhookHealth says whether Gemini delivers to the webhook.
type WebhookHealth string

// What a pass knows of the webhook.
const (
	WebhookEnabled  WebhookHealth = "enabled"
	WebhookDisabled WebhookHealth = "disabled" // by Gemini or by an operator: nothing is delivered
	WebhookMissing  WebhookHealth = "missing"  // it was created, and Gemini has none for the address
	WebhookUnknown  WebhookHealth = "unknown"  // it could not be checked; a dynamic one never can
	WebhookNone     WebhookHealth = "none"     // none is configured, or none was created yet
)

// A Pause says whether effects are paused. The zero Pause: it is not known.
type Pause string

// What a pass knows of the workers.
const (
	EffectsPaused  Pause = "paused"
	EffectsRunning Pause = "running"
)

// PauseOf returns the Pause of a process that knows whether effects are paused.
func PauseOf(paused bool) Pause {
	if paused {
		return EffectsPaused
	}
	return EffectsRunning
}

// maxPassError bounds the error of a pass, in bytes.
const maxPassError = 200

// PassError returns the text of an error as a Pass keeps it.
func PassError(err error) string { return diag.Failure(err.Error(), maxPassError) }

// Report stores how the pass ended, in one commit. A pass that cannot know whether effects are paused
// keeps what is stored of that [G5]. Where the marks cannot be read it stores nothing, because a newer
// revision may have written them [L6]. The error is the store's.
func (k *Lookups) Report(ctx context.Context, pass Pass) error {
	pass.Began, pass.Ended = operation.Instant(pass.Began), operation.Instant(pass.Ended)
	k.last = &pass
	return k.write(ctx, k.unanswered(), k.start)
}

// SawWebhook records that the pass found a webhook of the configured address. Report stores when
// each was last seen enabled, and forgets those that a pass which found some did not find.
func (k *Lookups) SawWebhook(id string, enabled bool) { k.webhooks[id] = enabled }

// WebhookEnabledAt returns when the last pass before this one began that saw the webhook enabled; of
// "" any webhook. It is zero where none did, or only by a clock that has leapt back since.
func (k *Lookups) WebhookEnabledAt(id string) (at time.Time) {
	for seen, then := range k.marks.EnabledAt {
		if (id == "" || id == seen) && then.After(at) && !then.After(k.start) {
			at = then
		}
	}
	return at
}

// enabledAt is the webhooks' part of the marks: as this pass saw them, once it has ended.
func (k *Lookups) enabledAt() map[string]time.Time {
	if k.last == nil || len(k.webhooks) == 0 {
		return k.marks.EnabledAt
	}
	seen := map[string]time.Time{}
	for id, enabled := range k.webhooks {
		if enabled {
			seen[id] = k.start
		} else if at, ok := k.marks.EnabledAt[id]; ok {
			seen[id] = at
		}
	}
	return seen
}

// lastPass is the last pass in the marks: this one, once it has ended.
func (k *Lookups) lastPass() *Pass {
	if k.last == nil {
		return k.marks.Last
	}
	last := *k.last
	last.Answered, last.Unanswered, last.WrongSecret, last.SecretFitsAt, last.NoWebhook = 0, nil, nil, time.Time{}, false
	if last.Effects == "" && k.marks.Last != nil {
		last.Effects = k.marks.Last.Effects
	}
	return &last
}

// storedUnanswered is that part of the marks in a version: of this pass, once it has ended. A pass that has
// asked Gemini nothing keeps it: a job is checked without a request, too.
func (k *Lookups) storedUnanswered(version int64) *Unanswered {
	found := k.marks.Unanswered
	if k.last != nil && (k.last.Answered > 0 || k.last.Unanswered != nil) {
		found = k.last.Unanswered
	}
	if found == nil {
		return nil
	}
	stored := *found
	stored.Version = version
	return &stored
}

// KnewSecret reports whether an earlier pass found this secret unknown, and none has found the right one since.
func (k *Lookups) KnewSecret(found WrongSecret) bool {
	before := k.marks.WrongSecret
	return before != nil && before.Webhook == found.Webhook && before.Shown == found.Shown
}

// storedWrongSecret is that part of the marks in a version: of this pass, if it has ended and compared the secrets.
func (k *Lookups) storedWrongSecret(version int64) *WrongSecret {
	found := k.marks.WrongSecret
	if k.last != nil && k.last.WrongSecret != nil {
		found = k.last.WrongSecret
	}
	if found == nil || found.Webhook == "" {
		return nil
	}
	stored := *found
	stored.Version = version
	return &stored
}

// secretFitsAt is that part of the marks: of this pass, if it has ended and found so.
func (k *Lookups) secretFitsAt() time.Time {
	if k.last != nil && !k.last.SecretFitsAt.IsZero() {
		return operation.Instant(k.last.SecretFitsAt)
	}
	return k.marks.SecretFitsAt
}

// noWebhookAt is that part of the marks: when this pass began, if it has ended and found so.
func (k *Lookups) noWebhookAt() time.Time {
	switch {
	case k.last == nil:
		return k.marks.NoWebhookAt
	case k.last.NoWebhook:
		return k.last.Began
	default:
		return time.Time{}
	}
}

// next returns what this pass writes: these marks, and beside them what it has found, once it has ended. Most of that
// counts only while its version is that of the marks.
func (k *Lookups) next(marks []Mark) Marks {
	version := k.marks.Version + 1
	return Marks{
		Schema: max(k.marks.Schema, operation.SchemaVersion), Version: version, Marks: marks,
		Last: k.lastPass(), EnabledAt: k.enabledAt(), SecretFitsAt: k.secretFitsAt(), NoWebhookAt: k.noWebhookAt(),
		Scans: k.storedScans(version), Unanswered: k.storedUnanswered(version), WrongSecret: k.storedWrongSecret(version),
	}
}

// StorePause stores whether effects are paused, for a process that runs them [G5]: one read, and
// one write if it changes. Where the marks cannot be read it stores nothing [L6]. The error is the
// store's.
func (l Passes) StorePause(ctx context.Context, pause Pause) error {
	return l.retry(ctx, "storing whether effects are paused", func(int) error {
		k := &Lookups{ledger: l}
		if _, err := k.read(ctx); err != nil || k.unreadable != nil {
			return err
		}
		last := *cmp.Or(k.marks.Last, &Pass{})
		if last.Effects == pause {
			return nil
		}
		last.Effects = pause
		next := k.next(k.marks.Marks)
		next.Last = &last
		return l.commit(ctx, Write{Path: marksPath, Token: k.token, Data: next})
	})
}

// Last returns how the last pass ended, and the store's time: one document read. The zero Pass:
// none has ended, or none since an older revision, which keeps no Pass, removed its marks. The error
// is a [Broken] where the document cannot be read, and then the time is there; else the store's.
func (l passesReader) Last(ctx context.Context) (last Pass, now time.Time, err error) {
	marks, _, now, err := readOne[Marks](ctx, l.store, marksPath, "how the last pass ended")
	if err == nil && marks.Last != nil {
		last, marks = *marks.Last, marks.current()
		last.Unanswered, last.WrongSecret = marks.Unanswered, marks.WrongSecret
		last.SecretFitsAt = marks.SecretFitsAt
		last.NoWebhook = !marks.NoWebhookAt.IsZero() && marks.NoWebhookAt.Equal(last.Began)
	}
	return last, now, err
}
