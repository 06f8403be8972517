package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// marksPath is the one document of the marks, which a pass reads where it asks for the time. How the
// last pass ended stands in it, too.
const marksPath Path = PassesCollection + "/lookups"

// A Marks is the document in which passes leave their marks. A look-up is postponed before its
// request, some for longer than an interval. A pass that dies between the two would delay those by
// that long. So the pass first marks what it is about to postpone, one write for each page, and
// removes it at its end. A later pass that finds a mark past its time makes that due again [R6].
type Marks struct {
	Schema  int    `json:"schema" firestore:"schema"`
	Version int64  `json:"version" firestore:"version"`
	Marks   []Mark `json:"marks,omitempty" firestore:"marks,omitempty"`
	// Last is how the last pass ended; absent where none has, or an older revision removed it with the
	// last mark.
	Last *Pass `json:"last,omitempty" firestore:"last,omitempty"`
	// EnabledAt says of each webhook of the configured address, by its id, when the last pass began that
	// saw it enabled; those that Gemini no longer has are not in it.
	EnabledAt map[string]time.Time `json:"enabledAt,omitempty" firestore:"enabledAt,omitempty"`
	// Scans says where passes begin to read; absent where none has found it.
	Scans *Scans `json:"scans,omitempty" firestore:"scans,omitempty"`
	// Unanswered are the look-ups of the last pass that asked Gemini, if Gemini answered none of them.
	Unanswered *Unanswered `json:"unanswered,omitempty" firestore:"unanswered,omitempty"`
	// WrongSecret is a secret that Gemini signs with and the webhook does not know, by the last pass that compared them.
	WrongSecret *WrongSecret `json:"wrongSecret,omitempty" firestore:"wrongSecret,omitempty"`
	// SecretFitsAt is when a pass last found that the webhook has the secret that Gemini signs with, as far as Gemini
	// shows it. What was refused before says nothing against that.
	SecretFitsAt time.Time `json:"secretFitsAt,omitzero" firestore:"secretFitsAt,omitempty"`
	// NoWebhookAt is when the pass began that found that Gemini has no webhook. It counts while that is the last pass.
	NoWebhookAt time.Time `json:"noWebhookAt,omitzero" firestore:"noWebhookAt,omitempty"`
}

// current returns the marks without what an older revision has left as it was when it wrote them.
func (m Marks) current() Marks {
	if m.Scans != nil && m.Scans.Version != m.Version {
		m.Scans = nil
	}
	if m.Unanswered != nil && m.Unanswered.Version != m.Version {
		m.Unanswered = nil
	}
	if m.WrongSecret != nil && m.WrongSecret.Version != m.Version {
		m.WrongSecret = nil
	}
	return m
}

// A Mark says what one pass may have postponed without having an answer.
type Mark struct {
	Pass string `json:"pass" firestore:"pass"` // unique
	// Start is when the pass began, and Until when it is over.
	Start time.Time  `json:"start" firestore:"start"`
	Until time.Time  `json:"until" firestore:"until"`
	Moved []LookedUp `json:"moved" firestore:"moved"`
}

// A LookedUp is one look-up of an operation: the one that counts so many attempts.
type LookedUp struct {
	Key      operation.Key `json:"key" firestore:"key"`
	Attempts int           `json:"attempts" firestore:"attempts"`
}

// Lookups are the look-ups of one pass. Claim and Conclude are safe for concurrent use, also beside one
// call of Prepare. The others are for one caller, while no other runs.
type Lookups struct {
	ledger       Passes
	id           string
	start, until time.Time
	leapt        time.Time // see Snapshot
	token        Token
	marks        Marks
	unreadable   error    // why there can be no marks
	dead         []string // passes whose marks were handled
	last         *Pass    // how this pass ended; nil before Report
	// webhooks are those that this pass found, with whether they are enabled
	webhooks map[string]bool
	scans    map[string]scanning // by collection

	mu sync.Mutex
	// prepared are marked, and not claimed yet: pages overlap. open are postponed for longer than an
	// interval, and without an answer.
	prepared, open map[operation.Key]LookedUp
}

// Begin begins the look-ups of a pass that takes no longer than budget. It reads the store's
// time and the marks. The error is the store's.
func (l Passes) Begin(ctx context.Context, budget time.Duration) (*Lookups, error) {
	k := &Lookups{
		ledger: l, id: l.nonce(), webhooks: map[string]bool{}, scans: map[string]scanning{},
		prepared: map[operation.Key]LookedUp{}, open: map[operation.Key]LookedUp{},
	}
	var err error
	if k.start, err = k.read(ctx); err != nil {
		return nil, fmt.Errorf("beginning a pass: %w", err)
	}
	k.until = k.start.Add(budget)
	return k, nil
}

// Start returns when the pass began, by the store's clock.
func (k *Lookups) Start() time.Time { return k.start }

// read reads the marks, and returns the store's time.
func (k *Lookups) read(ctx context.Context) (time.Time, error) {
	snapshot, err := k.ledger.store.Get(ctx, marksPath)
	if err != nil {
		return time.Time{}, err
	}
	doc := snapshot.Documents[0]
	k.token, k.leapt = doc.Token, snapshot.Leapt
	k.marks, k.unreadable = decode(doc, func(Marks) Path { return marksPath })
	k.marks = k.marks.current()
	return operation.Instant(snapshot.ReadTime), nil
}

// Recover makes due the operations of passes that died, or ran out of time, between a move and its
// answer: one interval after the move, as if it had never been widened. The errors are those of
// single operations, and of marks that cannot be read: then nothing is widened.
func (k *Lookups) Recover(ctx context.Context) []error {
	if k.unreadable != nil {
		return []error{k.unreadable}
	}
	var errs []error
	for _, mark := range k.marks.Marks {
		// One that began later is of a clock that has leapt back since.
		if !mark.Until.Before(k.start) && !mark.Start.After(k.start) { // of a pass that may be running
			continue
		}
		handled := true
		for _, looked := range mark.Moved {
			if err := k.ledger.restore(ctx, mark, looked, k.start); err != nil {
				errs = append(errs, err)
				handled = handled && Permanent(err) && !errors.Is(err, ErrNewer) // a later pass may be of the newer revision
			}
		}
		if handled || mark.Start.Add(k.ledger.longest()).Before(k.start) { // what it moved is due in any case
			k.dead = append(k.dead, mark.Pass)
		}
	}
	return errs
}

// longest is the longest time between two look-ups of an operation.
func (l *protocol) longest() time.Duration {
	return max(waitingFactor*l.settings.Interval, l.settings.LookupMaxInterval)
}

// restore makes an operation due one interval after the mark's pass began, or where that has passed at
// passStart. If its number of attempts differs, another pass has looked it up since, or this one never
// did.
func (l *protocol) restore(ctx context.Context, mark Mark, looked LookedUp, passStart time.Time) error {
	return l.retry(ctx, "making "+string(looked.Key)+" due again", func(int) error {
		snapshot, err := l.store.Get(ctx, OperationPath(looked.Key))
		if err != nil {
			return err
		}
		doc, now := snapshot.Documents[0], operation.Instant(snapshot.ReadTime)
		rec, err := l.readRecord(doc)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		if rec.LookUps != looked.Attempts || !rec.DueAt.After(mark.Start.Add(l.settings.Interval)) {
			return nil
		}
		rec.DueAt = dueFrom(l.next(mark.Start, 1), passStart)
		_, write := l.writeRecord(doc, rec, now)
		return l.commit(ctx, write)
	})
}

// Prepare leaves a mark for the operations of a page that Claim is about to postpone for longer than
// an interval; none for a page without any. The mark keeps what earlier pages have open. widen: the
// look-ups of old operations are widened. After an error nothing of the page is postponed for so long.
// It is the store's.
func (k *Lookups) Prepare(ctx context.Context, page []DueOperation, widen bool) error {
	moved := k.unfinished()
	marked := len(moved)
	for i := range page {
		page[i].leapt = k.leapt
		d := page[i]
		d.marked, d.widen = true, widen
		if k.unreadable != nil || !k.ledger.postponesLong(d, k.start) {
			continue
		}
		page[i] = d
		moved = append(moved, LookedUp{Key: d.Record.Key, Attempts: d.Record.LookUps + 1})
	}
	if len(moved) == marked {
		return nil
	}
	err := k.write(ctx, moved, k.until)
	for i := range page {
		page[i].marked = page[i].marked && err == nil
	}
	if err == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, looked := range moved[marked:] {
			k.prepared[looked.Key] = looked
		}
	}
	return err
}

// postponesLong reports whether the next look-up is later than after one interval.
func (l *protocol) postponesLong(d DueOperation, passStart time.Time) bool {
	d.Record, _, _ = l.withStuck(d, passStart)
	return l.nextLookUp(d, passStart).After(passStart.Add(l.settings.Interval))
}

// Claim is ClaimLookUp for this pass. After an error the move may have been made. Then it stays
// marked, and the mark has no effect if the move was not made.
func (k *Lookups) Claim(ctx context.Context, d DueOperation) (LookUpClaim, error) {
	p, err := k.ledger.ClaimLookUp(ctx, d, k.start)
	rec := p.Operation.Record
	long := rec.DueAt.After(k.start.Add(k.ledger.settings.Interval))
	if err != nil {
		rec = d.Record
		rec.LookUps++
		long = d.marked && !errors.Is(err, ErrConflict)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.prepared, d.Record.Key)
	if long {
		k.open[rec.Key] = LookedUp{Key: rec.Key, Attempts: rec.LookUps}
	}
	return p, err
}

// Conclude records that the answer about an operation is in the ledger, or changes nothing.
func (k *Lookups) Conclude(key operation.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, key)
}

// unanswered returns what Claim postponed and Conclude did not conclude, in the order of the keys.
func (k *Lookups) unanswered() []LookedUp {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.SortedFunc(maps.Values(k.open), byKey)
}

// unfinished returns what Claim may postpone yet, and what unanswered returns, in the order of the keys.
func (k *Lookups) unfinished() []LookedUp {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := maps.Clone(k.prepared)
	maps.Copy(all, k.open)
	return slices.SortedFunc(maps.Values(all), byKey)
}

func byKey(a, b LookedUp) int { return cmp.Compare(a.Key, b.Key) }

// End removes the mark of the pass, and those that Recover handled. What has no answer stays marked,
// for the next pass. The error is the store's: then the mark stays until its time.
func (k *Lookups) End(ctx context.Context) error { return k.write(ctx, k.unanswered(), k.start) }

// write makes the mark of this pass hold moved, and removes those that were handled. Where nothing
// changes it writes nothing.
func (k *Lookups) write(ctx context.Context, moved []LookedUp, until time.Time) error {
	if k.unreadable != nil {
		return nil
	}
	return k.ledger.retry(ctx, "marking what a pass looks up", func(tries int) error {
		if tries > 0 {
			if _, err := k.read(ctx); err != nil {
				return err
			}
			if k.unreadable != nil {
				return k.unreadable
			}
		}
		marks := slices.DeleteFunc(slices.Clone(k.marks.Marks), func(m Mark) bool {
			return m.Pass == k.id || slices.Contains(k.dead, m.Pass)
		})
		if len(moved) > 0 {
			marks = append(marks, Mark{Pass: k.id, Start: k.start, Until: until, Moved: moved})
		}
		next := k.next(marks)
		same := len(marks) == len(k.marks.Marks) && (len(marks) == 0 || reflect.DeepEqual(marks, k.marks.Marks))
		if same && reflect.DeepEqual(next.Last, k.marks.Last) {
			return nil // or an earlier try was made, and its answer was lost
		}
		write := Write{Path: marksPath, Token: k.token, Data: next}
		if len(marks) == 0 && next.Last == nil && len(next.EnabledAt) == 0 && next.Scans == nil && next.Unanswered == nil &&
			next.WrongSecret == nil {
			next, write.Data = Marks{}, nil
		}
		tokens, err := k.ledger.store.Commit(ctx, write)
		if err == nil {
			k.token, k.marks = tokens[0], next
		}
		return err
	})
}
