package phrase

import (
	"fmt"
	"strconv"

	"github.com/opledger/opledger/shared/ledger"
)

// Items counts the items of an effect that runs once per item.
func Items(p ledger.ItemProgress) string {
	total := "an unknown number"
	if p.Total > 0 {
		total = strconv.FormatInt(p.Total, 10)
	}
	words := fmt.Sprintf("%d done, %d failed, of %s", p.Done, p.Failed, total)
	if waiting := p.Waiting() + p.Returned; waiting > 0 {
		words += fmt.Sprintf("; %d are tried again", waiting)
	}
	return words
}

// FailedItems says why items failed, and whether their responses are kept.
func (v EffectView) FailedItems(e ledger.Effect) []string {
	items := v.Failed[e.Name]
	words := make([]string, len(items))
	for i, item := range items {
		kept := "its response is kept"
		if !item.FetchableUntil.IsZero() {
			kept = "its response is not kept; Gemini has it until about " + LocalTime(item.FetchableUntil)
		}
		words[i] = fmt.Sprintf("%s, item %d, failed after %s: %s; %s",
			Safe(item.Key), item.Index, Counted(item.Attempts, "attempt"), Readable(item.LastError), kept)
	}
	if more := e.Progress.Failed - int64(len(items)); len(items) > 0 && more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return words
}
