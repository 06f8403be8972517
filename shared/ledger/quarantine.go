package ledger

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// A Quarantined is a signed body that could not be parsed, kept whole for the operator [W6].
type Quarantined struct {
	Schema int    `json:"schema" firestore:"schema"`
	ID     string `json:"id" firestore:"id"` // the delivery's id
	Reason string `json:"reason" firestore:"reason"`
	Detail string `json:"detail" firestore:"detail"`
	Type   string `json:"type,omitempty" firestore:"type,omitempty"`
	// Headers are the delivery's that help to read its body, by their names in lower case.
	Headers map[string]string `json:"headers,omitempty" firestore:"headers,omitempty"`
	// Body is gzip-compressed: the first of Parts parts. The others are documents under this one.
	Body       []byte    `json:"body" firestore:"body"`
	Parts      int       `json:"parts" firestore:"parts"`
	ReceivedAt time.Time `json:"receivedAt" firestore:"receivedAt"`
	// RetriedAt is when the body was last ingested again, and Outcome the result.
	RetriedAt time.Time `json:"retriedAt,omitzero" firestore:"retriedAt,omitempty"`
	Outcome   Outcome   `json:"outcome,omitempty" firestore:"outcome,omitempty"`
	ExpireAt  time.Time `json:"expireAt" firestore:"expireAt"`
	// UnresolvedAt is ReceivedAt while an operator is needed: the body was not ingested later, is not
	// kept for its type alone, and Resolved does not say that an operator has resolved it. It is derived.
	UnresolvedAt time.Time          `json:"unresolvedAt,omitzero" firestore:"unresolvedAt,omitempty"`
	Resolved     *operation.Decided `json:"resolved,omitempty" firestore:"resolved,omitempty"`
}

// ReasonUnknownType is the reason of deliveries that are kept for their type alone: pings, and
// types that Gemini has added.
const ReasonUnknownType = "unknown-type"

// Ingested reports whether a retry has ingested the body.
func (q Quarantined) Ingested() bool {
	return q.Outcome == Applied || q.Outcome == Dropped || q.Outcome == Duplicate
}

// derived returns q with the field that is stored for an index and follows from others. A reader calls
// it, too [L5].
func (q Quarantined) derived() Quarantined {
	q.UnresolvedAt = time.Time{}
	if q.Reason != ReasonUnknownType && !q.Ingested() && q.Resolved == nil {
		q.UnresolvedAt = q.ReceivedAt
	}
	return q
}

// readQuarantined decodes a quarantined delivery.
func readQuarantined(d Document) (Quarantined, error) {
	var q Quarantined
	if err := d.Decode(&q); err != nil {
		return q, Broken{Path: d.Path, Err: err}
	}
	return q.derived(), nil
}

// quarantined reads a quarantined delivery, its document, and the store's time. ErrNotFound: there is none.
func (l *protocol) quarantined(ctx context.Context, id string) (q Quarantined, doc Document, now time.Time, err error) {
	snapshot, err := l.store.Get(ctx, quarantinePath(id))
	if err != nil {
		return q, doc, now, err
	}
	doc = snapshot.Documents[0]
	if !doc.Exists() {
		return q, doc, now, ErrNotFound
	}
	q, err = readQuarantined(doc)
	return q, doc, snapshot.ReadTime, err
}

// A QuarantinedPart is a further part of a quarantined body.
type QuarantinedPart struct {
	Body     []byte    `json:"body" firestore:"body"`
	ExpireAt time.Time `json:"expireAt" firestore:"expireAt"`
}

// A Suspect is a signed body to be quarantined, and the reason.
type Suspect struct {
	ID     string // the delivery's id
	Reason string // a word that logs count
	Detail string // what exactly was wrong
	Type   string // the event's type, where it could be parsed
	// Headers are the delivery's, in any case. Those in keptHeaders are kept; a signature never is.
	Headers map[string]string
	Body    []byte
}

// keptHeaders are the headers that help to read a body. None of them is a secret.
var keptHeaders = []string{"webhook-id", "webhook-timestamp", "content-type", "user-agent"}

// kept returns the headers that may be stored.
func kept(headers map[string]string) map[string]string {
	small := map[string]string{}
	for name, value := range headers {
		if name = strings.ToLower(name); slices.Contains(keptHeaders, name) {
			small[name] = diag.Cut(value, maxHeaderBytes)
		}
	}
	return small
}

const maxHeaderBytes = 300

// Add keeps a body that could not be parsed, whole, until its retention ends [W6]. The same
// delivery again changes nothing. It reports whether this call kept the body. Errors: as Ingest.
func (l Quarantine) Add(ctx context.Context, s Suspect) (bool, error) {
	body, err := compress(s.Body)
	if err != nil {
		return false, fmt.Errorf("compressing the body of delivery %s: %w", s.ID, err)
	}
	kept := false
	err = l.retry(ctx, "quarantining delivery "+s.ID, func(int) error {
		snapshot, err := l.store.Get(ctx, quarantinePath(s.ID))
		if err != nil || snapshot.Documents[0].Exists() {
			return err
		}
		err = l.commit(ctx, l.quarantineWrites(s, body, snapshot.ReadTime)...)
		kept = !errors.Is(err, ErrConflict) // after a lost answer the document found counts as our own
		return err
	})
	return kept, err
}

// maxPartBytes keeps a part below MaxDocumentBytes, also where a store encodes bytes as text.
const maxPartBytes = 512 << 10

// quarantineWrites returns the documents of a suspect: usually one, and more where its body does not fit
// into one.
func (l *protocol) quarantineWrites(s Suspect, body []byte, now time.Time) []Write {
	parts := slices.Collect(slices.Chunk(body, maxPartBytes))
	expire := now.Add(l.settings.Retention)
	writes := []Write{{Path: quarantinePath(s.ID), Data: Quarantined{
		Schema: operation.SchemaVersion, ID: printable(s.ID), Reason: s.Reason,
		Detail: shorten(s.Detail), Type: shorten(s.Type), Headers: kept(s.Headers), Body: parts[0], Parts: len(parts),
		ReceivedAt: now, ExpireAt: expire,
	}.derived()}}
	for i, part := range parts[1:] {
		writes = append(writes, Write{
			Path: quarantinePath(s.ID).Child(PartsCollection, strconv.Itoa(i+2)),
			Data: QuarantinedPart{Body: part, ExpireAt: expire},
		})
	}
	return writes
}

// Read returns a quarantined body as it was delivered. ErrNotFound: there is none with
// that delivery id. Other errors: the store's, and those of a body that cannot be decompressed.
func (l quarantineReader) Read(ctx context.Context, id string) (Quarantined, []byte, error) {
	q, _, _, err := l.quarantined(ctx, id)
	if err != nil {
		return q, nil, fmt.Errorf("reading quarantined delivery %s: %w", id, err)
	}
	compressed := q.Body
	for n := 2; n <= q.Parts; n++ {
		var part QuarantinedPart
		snapshot, err := l.store.Get(ctx, quarantinePath(id).Child(PartsCollection, strconv.Itoa(n)))
		if err == nil {
			err = snapshot.Documents[0].Decode(&part)
		}
		if err != nil {
			return q, nil, fmt.Errorf("reading part %d of quarantined delivery %s: %w", n, id, err)
		}
		compressed = append(compressed, part.Body...)
	}
	var body []byte
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err == nil {
		body, err = io.ReadAll(reader)
	}
	if err != nil {
		return q, nil, fmt.Errorf("decompressing quarantined delivery %s: %w", id, err)
	}
	return q, body, nil
}

func compress(body []byte) ([]byte, error) {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, err := w.Write(body)
	err = errors.Join(err, w.Close()) // Close writes, so the bytes are complete only now
	return buffer.Bytes(), err
}
