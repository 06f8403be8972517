package ledger

import (
	"context"
	"strconv"
)

// ForgetQuarantined deletes a quarantined delivery before its retention ends. It is for the answer
// to a ping, which is known not to be a completion: nothing else deletes what was signed [W6]. It
// is no error if there is none. Errors: as Ingest.
func (l *Ledger) ForgetQuarantined(ctx context.Context, id string) error {
	return l.decide(ctx, "deleting quarantined delivery "+id, func(int) error {
		snapshot, err := l.store.Get(ctx, quarantinePath(id))
		if err != nil || !snapshot.Documents[0].Exists() {
			return err
		}
		doc := snapshot.Documents[0]
		q, err := readQuarantined(doc)
		if err != nil {
			return err
		}
		paths := []Path{doc.Path}
		for n := 2; n <= q.Parts; n++ {
			paths = append(paths, doc.Path.Child(PartsCollection, strconv.Itoa(n)))
		}
		if snapshot, err = l.store.Get(ctx, paths...); err != nil {
			return err
		}
		var writes []Write
		for _, found := range snapshot.Documents {
			if found.Exists() {
				writes = append(writes, Write{Path: found.Path, Token: found.Token})
			}
		}
		return l.commit(ctx, writes...)
	})
}
