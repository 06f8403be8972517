package serve

import (
	"context"

	"github.com/opledger/opledger/shared/config"

	"github.com/opledger/opledger/scripts/opledger/open"
)

// OwnToken is the token of a serve without a flag, over a ledger.
func OwnToken(access *config.Access, where open.Location) (file string, err error) {
	return new(serveFlags).ownToken(access, where)
}

var CheckForward = checkForward
var Export = export
var ForwardEffects = forwardEffects
var ForwardSettings = forwardSettings
var Replaced = replaced
var TokenFile = tokenFile

// Watch is what serve tells a supervisor of these variables while it serves.
func Watch(ctx context.Context, variables []string, url string) error {
	s, err := newSupervisor(variables)
	if err == nil {
		s.watch(ctx, url)
	}
	return err
}
