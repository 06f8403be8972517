package decision

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// Usual is for how long a batch runs by Gemini's word.
const Usual = 24 * time.Hour

// AgreeCancelAfter asks before batches are cancelled that Gemini may still be working on: it says that one takes up to
// 24 hours. question is what is asked behind the reason, and otherwise what is said where that is declined.
func AgreeCancelAfter(
	ctx context.Context, outside terminal.Environment, after time.Duration, question, otherwise string,
) error {
	if after == 0 || after >= Usual {
		return nil
	}
	why := fmt.Sprintf("Gemini may take 24 hours for a batch. One that has run for %v is cancelled, also where it "+
		"would have succeeded, and what it did is paid. ", after)
	return terminal.Agree(ctx, outside, why+question, otherwise)
}
