package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A store is a simulated Firestore. It promises what Firestore promises and no more: a commit is
// atomic and every write in it has a precondition; a read or a query sees one instant; a document
// that is created again never has an old token; a write that changes nothing keeps the token. All of
// it happens in the steps of the gate.
type store struct {
	clock clock
	// mu guards documents, and what has expired, while a step writes them: a process that was not
	// answered, but waited long enough, may check them meanwhile. Steps read them without it.
	mu        sync.RWMutex
	documents map[ledger.Path]*document
	commits   int64
	flaw      Flaw
	check     *checker
}

// A document is one version of a document.
type document struct {
	path  ledger.Path
	token ledger.Token
	body  []byte
	data  any // as it was written
	times times
	// until is the true time at which it may expire.
	until time.Time
}

// times are the fields that queries order by.
type times struct {
	DueAt, CreatedAt, ReceivedAt, FailedAt, WaitingSince, SettledAt, ConflictAt, ExpireAt time.Time
}

func (t *times) of(field string) time.Time {
	switch field {
	case ledger.FieldDueAt:
		return t.DueAt
	case ledger.FieldCreatedAt:
		return t.CreatedAt
	case ledger.FieldReceivedAt:
		return t.ReceivedAt
	case ledger.FieldFailedAt:
		return t.FailedAt
	case ledger.FieldWaiting:
		return t.WaitingSince
	case ledger.FieldSettledAt:
		return t.SettledAt
	default:
		return t.ConflictAt
	}
}

// A cost is what calls of the store are charged for.
type cost struct{ calls, reads, writes int }

func newStore(check *checker) *store {
	return &store{documents: map[ledger.Path]*document{}, check: check}
}

func (s *store) now() time.Time { return s.clock.now() }

func (s *store) get(c *cost, paths []ledger.Path) ledger.Snapshot {
	now, leapt := s.clock.look()
	snapshot := ledger.Snapshot{
		ReadTime: now, Leapt: s.flaw.tells(leapt), Documents: make([]ledger.Document, len(paths)),
	}
	c.calls++
	for i, path := range paths {
		snapshot.Documents[i] = ledger.Document{Path: path}
		if d := s.documents[path]; d != nil {
			snapshot.Documents[i] = d.read(s.flaw)
			c.reads++
		}
	}
	return snapshot
}

// read returns the document as the ledger sees it.
func (d *document) read(flaw Flaw) ledger.Document {
	return ledger.NewDocument(d.path, d.token, func(into any) error {
		defer flaw.shows(into)
		return json.Unmarshal(d.body, into)
	})
}

func (s *store) commit(by *actor, writes []ledger.Write) ([]ledger.Token, error) {
	by.cost.calls++
	now, _ := s.clock.look()
	for _, w := range writes {
		if !s.flaw.holds(s.documents[w.Path], w) {
			return nil, fmt.Errorf("simulated: %s: %w", w.Path, ledger.ErrConflict)
		}
	}
	s.check.commit(s, by, writes)
	s.commits++
	tokens := make([]ledger.Token, len(writes))
	for i, w := range writes {
		by.cost.writes++
		w, kept := s.flaw.stores(w, s.commits)
		if !kept {
			continue
		}
		if w.Data == nil {
			s.set(w.Path, nil)
			continue
		}
		d, err := encode(w)
		if err != nil {
			return nil, err
		}
		d.token = ledger.Token(strconv.FormatInt(s.commits, 10))
		d.until = time.Now().Add(d.times.ExpireAt.Sub(now))
		if before := s.documents[w.Path]; before != nil {
			d.follows(before)
		}
		s.set(w.Path, d)
		tokens[i] = d.token
	}
	s.check.committed(writes)
	return tokens, nil
}

// set stores a version of a document; nil deletes it.
func (s *store) set(path ledger.Path, d *document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d == nil {
		delete(s.documents, path)
		return
	}
	s.documents[path] = d
}

// follows gives a version what it has of the one before.
func (d *document) follows(before *document) {
	if string(before.body) == string(d.body) {
		d.token = before.token
	}
	if before.times.ExpireAt.Equal(d.times.ExpireAt) {
		d.until = before.until
	}
}

func (d *document) version() ledger.Token {
	if d == nil {
		return ""
	}
	return d.token
}

// sent returns writes as they leave a process: a commit that arrives late holds what its data held
// then, whatever the process does with them meanwhile.
func sent(writes []ledger.Write) ([]ledger.Write, error) {
	writes = slices.Clone(writes)
	for i, w := range writes {
		if w.Data == nil {
			continue
		}
		body, err := json.Marshal(w.Data)
		if err != nil {
			return nil, fmt.Errorf("simulated: encoding %s: %w: %w", w.Path, ledger.ErrInvalid, err)
		}
		data := reflect.New(reflect.TypeOf(w.Data))
		if err := json.Unmarshal(body, data.Interface()); err != nil {
			return nil, fmt.Errorf("simulated: reading %s: %w: %w", w.Path, ledger.ErrInvalid, err)
		}
		writes[i].Data = data.Elem().Interface()
	}
	return writes, nil
}

func encode(w ledger.Write) (*document, error) {
	body, err := json.Marshal(w.Data)
	if err != nil {
		return nil, fmt.Errorf("simulated: encoding %s: %w: %w", w.Path, ledger.ErrInvalid, err)
	}
	return &document{path: w.Path, body: body, data: w.Data, times: timesOf(w.Data)}, nil
}

// timesOf returns the times of a document: its fields of the same names. Reading them from its text was
// a tenth of a schedule.
func timesOf(data any) (found times) {
	from, into := reflect.ValueOf(data), reflect.ValueOf(&found).Elem()
	for i := range into.NumField() {
		if field := from.FieldByName(into.Type().Field(i).Name); field.IsValid() {
			into.Field(i).Set(field)
		}
	}
	return found
}

func (s *store) query(c *cost, q ledger.Query) []ledger.Document {
	var found []*document
	for _, d := range s.documents {
		if d.path.Collection() == q.Collection && d.matches(q) {
			found = append(found, d)
		}
	}
	direction := 1
	if q.Descending {
		direction = -1
	}
	slices.SortFunc(found, func(a, b *document) int {
		return direction * compare(a.times.of(q.OrderBy), a.path, b.times.of(q.OrderBy), b.path)
	})
	c.calls++
	var documents []ledger.Document
	for _, d := range found[:min(len(found), q.Limit)] {
		document := s.flaw.finds(d, s.documents).read(s.flaw)
		document.At = d.times.of(q.OrderBy)
		documents = append(documents, document)
		c.reads++
	}
	return documents
}

// compare orders by time, then by path.
func compare(at time.Time, path ledger.Path, otherAt time.Time, other ledger.Path) int {
	if order := at.Compare(otherAt); order != 0 {
		return order
	}
	return path.Compare(other)
}

func (d *document) matches(q ledger.Query) bool {
	at := d.times.of(q.OrderBy)
	switch {
	case at.IsZero(), q.Under != "" && d.path.Parent() != q.Under,
		!q.NotBefore.IsZero() && at.Before(q.NotBefore), !q.NotAfter.IsZero() && at.After(q.NotAfter):
		return false
	}
	if q.After.Path != "" {
		order := compare(at, d.path, q.After.At, q.After.Path)
		if order == 0 || order < 0 != q.Descending {
			return false
		}
	}
	if len(q.Where) == 0 {
		return true
	}
	var fields map[string]any
	if json.Unmarshal(d.body, &fields) != nil {
		return false
	}
	return !slices.ContainsFunc(q.Where, func(equal ledger.Equal) bool { return fields[equal.Field] != equal.Value })
}

// An observer is the store as it is, for a ledger that only reads it: outside of the gate, at no cost.
type observer struct{ *store }

func (o observer) Get(_ context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	return o.get(&cost{}, paths), nil
}

func (o observer) Commit(context.Context, ...ledger.Write) ([]ledger.Token, error) {
	return nil, errors.New("an observer does not write")
}

func (o observer) Query(_ context.Context, q ledger.Query) ([]ledger.Document, error) {
	return o.query(&cost{}, q), nil
}

func (o observer) Count(_ context.Context, q ledger.Query, ceiling int) (int, error) {
	q.Limit = ceiling
	return len(o.query(&cost{}, q)), nil
}

func (o observer) Close() error { return nil }
