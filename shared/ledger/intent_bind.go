package ledger

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A binding is what a registration's correlation id leads to.
type binding struct {
	registration Registration // without the id where that is refused; completed by the intent
	intent       Intent       // as it was before this registration binds it
	writes       []Write
	refused      error            // ErrCorrelation, where the id belongs elsewhere
	seen         *operation.Event // what deliveries under another name reported
	// disputed: deliveries had the id and the name of another operation. They are not believed
	// about this one, but it is due at once.
	disputed bool
}

// bind ties the correlation id of r to its operation, unless either is tied already. before is the
// operation's record. What deliveries with the id reported belongs to the operation where their
// name was not registered and Gemini did not issue it [K6, W5].
func (l *protocol) bind(
	ctx context.Context, doc Document, before operation.Record, r Registration, now time.Time,
) (binding, error) {
	intent, err := readIntent(doc)
	if err != nil {
		return binding{}, err
	}
	b := binding{registration: r}
	switch {
	case intent.State == IntentBound && intent.Operation != r.Name.Key:
		b.refused = fmt.Errorf("%w: %q is the id of %s", ErrCorrelation, r.CorrelationID, intent.Operation)
	case before.Registered && before.CorrelationID != "" && before.CorrelationID != r.CorrelationID:
		b.refused = fmt.Errorf("%w: %s has the id %q", ErrCorrelation, r.Name.Key, before.CorrelationID)
	}
	switch {
	case b.refused != nil:
		b.registration.CorrelationID = ""
		return b, nil
	case intent.State == IntentBound:
		return b, nil
	case intent.State == IntentSeen && intent.Operation != r.Name.Key && intent.Operation.Issued():
		b.disputed = true
	case intent.State == IntentSeen && intent.Operation != r.Name.Key:
		if err := b.adoptSeen(ctx, l, r, intent.Operation, now); err != nil {
			return b, err
		}
	}
	b.registration.Submission = r.Submission.Fill(intent.Submission)
	b.intent = intent
	intent.CorrelationID = r.CorrelationID
	b.writes = append(b.writes, l.writeIntent(doc, intent.bound(r.Name.Key, cmp.Or(r.By, BySubmitter)), now))
	return b, nil
}

// withReports applies to rec the reports of deliveries under another name of the operation. Where
// they named another operation, nothing is applied, and rec is due at once.
func (b binding) withReports(l *protocol, rec operation.Record, now time.Time) operation.Record {
	if b.seen != nil && operation.Reduce(rec, *b.seen, l.settings.Transitions).Applied {
		rec = operation.Apply(rec, *b.seen, now)
	}
	if b.disputed && rec.DueAt.After(now) {
		rec.DueAt = operation.Instant(now)
	}
	return rec
}

// adoptSeen turns the reports of deliveries under other's name into an event of r's operation.
func (b *binding) adoptSeen(
	ctx context.Context, l *protocol, r Registration, other operation.Key, now time.Time,
) error {
	rec, doc, _, err := l.record(ctx, other)
	if err != nil {
		return fmt.Errorf("reading the events of correlation id %q: %w", r.CorrelationID, err)
	}
	if !doc.Exists() || rec.Registered {
		return nil
	}
	b.seen = &operation.Event{
		Name: r.Name, Source: operation.Webhook, State: rec.State, UpdateTime: rec.UpdateTime, Result: rec.Result,
	}
	// Writing it unchanged makes a concurrent delivery to it conflict, and then find the operation.
	_, write := l.writeRecord(doc, rec, now)
	b.writes = append(b.writes, write)
	return nil
}

// elsewhere returns the operation that an event with the intent's id is about, where that is not
// key, the unregistered operation that it names; "" where it is.
//
// A submitter knows its operation's name, so another name under its id is another form of that name
// [K6]. That holds only for a name that Gemini did not issue: an issued one names another
// operation, see Receipt.Disputed. An intent that an event bound proves nothing about other names: they
// may be those of a job that was submitted twice.
func (i Intent) elsewhere(key operation.Key) operation.Key {
	if key.Issued() {
		return ""
	}
	return i.registered(key)
}

// registered returns the operation that a submitter registered with the intent's id, if that is not
// key. An event with the id that is about key, and not elsewhere, disputes it.
func (i Intent) registered(key operation.Key) operation.Key {
	if i.State != IntentBound || i.BoundBy != BySubmitter || i.Operation == key {
		return ""
	}
	return i.Operation
}

// bound returns the intent, bound to the operation key.
func (i Intent) bound(key operation.Key, by operation.Source) Intent {
	i.State, i.Operation, i.BoundBy = IntentBound, key, by
	return i
}

// A correlation is the intent under the correlation id of an event about an unregistered operation.
type correlation struct {
	doc    Document
	intent Intent
}

// seen returns the write that stores an event's id where it is unknown, so that a registration
// under another name finds the event [K6].
func (l *protocol) seen(c correlation, e operation.Event, now time.Time) []Write {
	if c.doc.Path == "" || c.doc.Exists() {
		return nil
	}
	return []Write{l.writeIntent(c.doc, Intent{
		Submission: operation.Submission{CorrelationID: e.CorrelationID}, State: IntentSeen, Operation: e.Key,
		BoundBy: e.Source,
	}, now)}
}

// adopt registers the operation of an event that carries the id of a waiting intent [G6].
func (l *protocol) adopt(
	rec operation.Record, c correlation, e operation.Event, now time.Time,
) (operation.Record, Write, error) {
	rec, err := l.merge(rec, Registration{
		Name: e.Name, Submission: c.intent.Submission, SubmittedAt: c.intent.AttemptedAt(),
	}, now)
	return rec, l.writeIntent(c.doc, c.intent.bound(e.Key, e.Source), now), err
}
