package console

import (
	"context"
	"errors"
	"net/http"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// search leads to what was searched for: an operation or a job's part, or else an intent, or else to the
// page of the operation, which says that the ledger has none.
func (c *Console) search(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), pageTime)
	defer cancel()
	http.Redirect(w, r, c.find(ctx, r.URL.Query().Get("q")), http.StatusSeeOther)
}

func (c *Console) find(ctx context.Context, text string) string {
	if text == "" {
		return "/console/operations"
	}
	if _, _, isPart := operation.ParsePart(text); isPart { // its intent has the same id, and is not what is meant
		return link("/console/operation", theKey, text, "q", text)
	}
	if intent, err := c.ledger.Intents.Read(ctx, text); err == nil {
		if intent.State == ledger.IntentBound {
			return link("/console/operation", theKey, string(intent.Operation), "q", text)
		}
		return link("/console/intent", theKey, text, "q", text)
	} else if !errors.Is(err, ledger.ErrNoIntent) {
		return link("/console/operation", theKey, text, "q", text) // which shows the error of the store
	}
	if name, err := operation.ParseName(text, ""); err == nil {
		text = string(name.Key) // which may be a bare id: the page finds what it means
	}
	return link("/console/operation", theKey, text, "q", text)
}
