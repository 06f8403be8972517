package operations

import (
	"context"
	"slices"

	"github.com/opledger/opledger/shared/ledger"
)

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
		page, err := l.Items.Failed(ctx, e.Operation, e.Name, ledger.Cursor{}, mostFailed)
		if err != nil {
			return nil, err
		}
		failed[e.Name] = slices.DeleteFunc(page.Items, func(item ledger.Item) bool {
			return item.State != ledger.ItemFailed
		})
	}
	return failed, nil
}

// withoutResponses drops Gemini's responses, which may be large.
func withoutResponses(items []ledger.Item) []ledger.Item {
	items = slices.Clone(items)
	for i := range items {
		items[i].Response, items[i].Error = "", ""
	}
	return items
}
