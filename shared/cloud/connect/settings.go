package connect

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
)

// storeWithin bounds StoreSettings: a store that does not answer keeps no function from starting.
const storeWithin = 2 * time.Second

// StoreSettings stores in the ledger what decides what is planned, as a function or serve does when it
// starts [L7]. by is what it is called. Other settings that were stored before are replaced, and
// logged: a rolling deployment has two. So is an error: commands then go by what was stored before.
// The default effect is missed by no one: the first OPLEDGER_EFFECTS replaces it.
func StoreSettings(
	ctx context.Context, l *ledger.Ledger, settings config.Ledger, by string, log *slog.Logger,
) {
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	next := settings.Stored(by)
	before, err := l.StoreSettings(ctx, next, spec.Rules(kinds.Default())...)
	switch {
	case err != nil:
		log.WarnContext(ctx, "commands cannot know the settings", "event", "settings", "outcome", "error", "error", err)
	case before.IsZero() || before.Digest == next.Digest:
	default:
		log.WarnContext(ctx, "these settings replace others in the ledger", "event", "settings", "outcome", "replaced",
			"was", before.StoredBy, "digest", next.Digest, "changes", fmt.Sprint(settings.Changes(before)))
	}
}
