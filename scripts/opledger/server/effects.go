package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/cloud"
)

// CheckEffects logs each effect of which no attempt can succeed as things are, and returns a line for
// each, by name: a private address, a secret or credentials that are not there. They are planned and
// tried all the same, for things may change. It takes 3 seconds at most.
func (s *Server) CheckEffects(ctx context.Context) []string {
	why := cloud.Unperformable(ctx, s.settings.Ledger.Effects, s.settings.Handlers, s.handlers)
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(why)) {
		s.options.Log.WarnContext(ctx, "this effect cannot be performed now", "event", "effect", "effect", name,
			"outcome", "unperformable", "reason", "settings", "error", why[name])
		lines = append(lines, fmt.Sprintf("the effect %s cannot be performed now: %s", name, strings.ReplaceAll(why[name].Error(), "\n", "; ")))
	}
	return lines
}
