package api

import (
	"fmt"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// CheckAbout returns nil if said, the name in an answer, is the requested one or missing. The error may
// quote the answer.
func CheckAbout(name operation.Name, said string) error {
	if said == "" {
		return nil
	}
	if got, err := operation.ParseName(said, name.Key.Collection()); err != nil || got.Key != name.Key {
		return fmt.Errorf("the answer is about %s", diag.QuoteUpTo(said, maxQuoted))
	}
	return nil
}
