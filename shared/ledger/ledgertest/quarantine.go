package ledgertest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"

	"github.com/opledger/opledger/shared/ledger"
)

func suspect(id string) ledger.Suspect {
	return ledger.Suspect{
		ID: id, Reason: "no-name", Detail: "found only [foo]", Type: "batch.new",
		Body: []byte(`{"foo":"` + strings.Repeat("bar", 1000) + "\xff\x00\"}"),
	}
}

// quarantined returns everything in quarantine.
func (w *world) quarantined() []ledger.Quarantined {
	w.Helper()
	page, err := w.store.Query(w.ctx, ledger.Query{
		Collection: ledger.QuarantineCollection, OrderBy: ledger.FieldReceivedAt, Limit: 100,
	})
	if err != nil {
		w.Fatal(err)
	}
	all := make([]ledger.Quarantined, len(page))
	for i, doc := range page {
		if err := doc.Decode(&all[i]); err != nil {
			w.Fatal(err)
		}
	}
	return all
}

// keeping is a move that quarantines s and stores in kept whether it did.
func (w *world) keeping(s ledger.Suspect, kept *bool) move {
	return func(l *ledger.Ledger) (err error) {
		*kept, err = l.Quarantine.Add(w.ctx, s)
		return err
	}
}

var quarantineTests = join([]ledgerTest{
	{"a body is kept whole, until the retention ends [W6]", func(w *world) {
		s := suspect("d1")
		if kept, err := w.ledger().Quarantine.Add(w.ctx, s); err != nil || !kept {
			w.Fatalf("%v, %v", kept, err)
		}
		all := w.quarantined()
		if len(all) != 1 {
			w.Fatalf("%d bodies in quarantine", len(all))
		}
		q := all[0]
		if q.ID != "d1" || q.Reason != s.Reason || q.Detail != s.Detail || q.Type != s.Type {
			w.Errorf("kept: %+v", q)
		}
		near(w, "expires after", q.ExpireAt.Sub(q.ReceivedAt), w.settings.Retention)
		if _, body, err := w.ledger().Quarantine.Read(w.ctx, "d1"); err != nil || !bytes.Equal(body, s.Body) {
			w.Errorf("%d bytes of the body came back of %d, %v", len(body), len(s.Body), err)
		}
		if _, _, err := w.ledger().Quarantine.Read(w.ctx, "d2"); !errors.Is(err, ledger.ErrNotFound) {
			w.Errorf("reading what is not there: %v", err)
		}
	}},
	{"a body that fits into no document, whole [W6, W7]", func(w *world) {
		s := suspect("d1")
		s.Body = make([]byte, 1<<20) // the webhook's limit, and bytes that do not compress
		random := rand.New(rand.NewPCG(1, 2))
		for i := range s.Body {
			s.Body[i] = byte(random.Uint32())
		}
		if kept, err := w.ledger().Quarantine.Add(w.ctx, s); err != nil || !kept {
			w.Fatalf("%v, %v", kept, err)
		}
		if q, body, err := w.ledger().Quarantine.Read(w.ctx, "d1"); err != nil || !bytes.Equal(body, s.Body) || q.Parts < 2 {
			w.Errorf("%d bytes of %d came back, in %d parts, %v", len(body), len(s.Body), q.Parts, err)
		}
	}},
	{"a body that cannot be put together again is an error, and no other body [W6]", func(w *world) {
		w.keep(suspect("d1"))
		whole := w.quarantined()[0].Body
		for id, body := range map[string][]byte{"other": []byte("no gzip"), "cut": whole[:len(whole)-1], "parts": whole} {
			parts := 1
			if id == "parts" {
				parts = 2
				w.plant("quarantine/parts/parts/2", struct {
					Body int `json:"body" firestore:"body"`
				}{2})
			}
			w.plant(ledger.Path("quarantine/"+id), ledger.Quarantined{ID: id, Body: body, Parts: parts, ReceivedAt: w.start})
			if _, body, err := w.ledger().Quarantine.Read(w.ctx, id); err == nil || body != nil {
				w.Errorf("%s: %d bytes, %v", id, len(body), err)
			}
		}
	}},
	{"the same delivery again changes nothing [W4, W6]", func(w *world) {
		for i := range 3 {
			s := suspect("d1")
			s.Detail = strings.Repeat("!", i)
			if kept, err := w.ledger().Quarantine.Add(w.ctx, s); err != nil || kept != (i == 0) {
				w.Errorf("time %d: %v, %v", i, kept, err)
			}
		}
		if all := w.quarantined(); len(all) != 1 || all[0].Detail != "" {
			w.Errorf("in quarantine: %+v", all)
		}
	}},
	{"deliveries of any id, with texts of any bytes [W6]", func(w *world) {
		for _, text := range someIDs() {
			s := suspect(text)
			s.Detail, s.Type = text, text
			if kept, err := w.ledger().Quarantine.Add(w.ctx, s); err != nil || !kept {
				w.Errorf("delivery %.40q: %v, %v", text, kept, err)
			}
		}
	}},
}, both("the same delivery twice in parallel [W6]", func(w *world) (a, b move, check func()) {
	var one, two bool
	return w.keeping(suspect("d1"), &one), w.keeping(suspect("d1"), &two), func() {
		equal(w, "kept by one of them", one != two, true)
		equal(w, "bodies", len(w.quarantined()), 1)
	}
}))
