package connect

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
)

// storeWithin bounds StoreSettings: a store that does not answer keeps no function from starting.
const storeWithin = 2 * time.Second

// StoreSettings stores in the ledger what decides what is planned, as a function or serve does when it
// starts [L7]. by is what it is called. Other settings that were stored before are replaced, and
// logged: a rolling deployment has two. So is an error: commands then go by what was stored before.
// It returns those of before; zero after an error.
func StoreSettings(
	ctx context.Context, l *ledger.Ledger, settings config.Ledger, by string, log *slog.Logger,
) (before ledger.StoredSettings) {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	next := settings.Stored(by)
	before, err := l.StoreSettings(ctx, next)
	switch {
	case err != nil:
		log.WarnContext(ctx, "commands cannot know the settings", "event", "settings", "outcome", "error", "error", err)
		return ledger.StoredSettings{}
	case before.IsZero() || before.Digest == next.Digest:
	default:
		log.WarnContext(ctx, "these settings replace others in the ledger", "event", "settings", "outcome", "replaced",
			"was", before.StoredBy, "digest", next.Digest, "changes", fmt.Sprint(settings.Changes(before)))
	}
	return before
}
