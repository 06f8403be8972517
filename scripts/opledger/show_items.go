package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/opledger/opledger/shared/ledger"
)

// progressWords count the items of an effect that runs once per item.
func progressWords(p ledger.ItemProgress) string {
	total := "an unknown number"
	if p.Total > 0 {
		total = strconv.FormatInt(p.Total, 10)
	}
	words := fmt.Sprintf("%d done, %d failed, of %s", p.Done, p.Failed, total)
	if waiting := p.Waiting.Count() + p.Returned; waiting > 0 {
		words += fmt.Sprintf("; %d are tried again", waiting)
	}
	return words
}

// mostFailed bounds the FAILED items that are shown of an effect.
const mostFailed = 8

// failedItems returns the first FAILED items of each effect of an operation, by the name of the
// effect.
func failedItems(ctx context.Context, l *ledger.Ledger, s ledger.Story) (map[string][]ledger.Item, error) {
	failed := map[string][]ledger.Item{}
	for _, e := range s.Effects {
		if e.Progress == nil || e.Progress.Failed == 0 {
			continue
		}
		page, err := l.FailedItems(ctx, e.Operation, e.Name, ledger.Cursor{}, mostFailed)
		if err != nil {
			return nil, err
		}
		failed[e.Name] = slices.DeleteFunc(page.Items, func(item ledger.Item) bool {
			return item.State != ledger.ItemFailed
		})
	}
	return failed, nil
}

// failedWords say why items failed, and whether their responses are kept.
func (v effectView) failedWords(e ledger.Effect) []string {
	items := v.failed[e.Name]
	words := make([]string, len(items))
	for i, item := range items {
		kept := "its response is kept"
		if !item.FetchableUntil.IsZero() {
			kept = "its response is not kept; Gemini has it until about " + localTime(item.FetchableUntil)
		}
		words[i] = fmt.Sprintf("%s, item %d, failed after %s: %s; %s",
			safe(item.Key), item.Index, counted(item.Attempts, "attempt"), safe(item.LastError), kept)
	}
	if more := e.Progress.Failed - int64(len(items)); len(items) > 0 && more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return words
}

// withoutResponses drops Gemini's responses, which may be large.
func withoutResponses(items []ledger.Item) []ledger.Item {
	items = slices.Clone(items)
	for i := range items {
		items[i].Response, items[i].Error = "", ""
	}
	return items
}
