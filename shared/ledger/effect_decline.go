package ledger

import (
	"context"

	"github.com/opledger/opledger/shared/operation"
)

// Decline answers a message for a process that may not run its effect now, for example while effects
// are paused. It returns the verdict that a claim would have, without claiming: Claimed if it would be
// granted. If earlier messages were not answered, and so the sweep checks the effect more rarely, it is
// due again within an interval, so that it runs soon after the pause [R5]. Errors: as Ingest.
func (l Effects) Decline(ctx context.Context, key operation.Key, name string) (Verdict, error) {
	verdict := Absent
	err := l.withEffect(ctx, key, name, "declining", func(effect Effect, read Snapshot) error {
		if !read.Documents[0].Exists() {
			return nil
		}
		verdict, _ = effect.refusal(read.ReadTime, "")
		if effect.Unanswered < 2 || verdict != Claimed { // after one message it is due within an interval anyway
			return nil
		}
		effect.Unanswered = 0
		effect.DueAt = operation.Earlier(effect.DueAt, l.next(read.ReadTime, 1))
		return l.commit(ctx, l.writeEffect(read.Documents[0], effect))
	})
	if err != nil {
		return "", err
	}
	return verdict, nil
}
