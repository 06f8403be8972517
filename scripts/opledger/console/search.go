package console

import (
	"context"
	"errors"
	"net/http"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// search leads to what was searched for: an intent, an operation, a job or a part of it, a delivery in quarantine, the
// operation of a delivery, or else to the list of what begins so, which says where the ledger has none.
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
	name, err := operation.ParseName(text, "")
	if err == nil && c.known(ctx, name) {
		return link("/console/operation", theKey, string(name.Key), "q", text) // a bare id: the page finds what it means
	}
	if _, err := c.ledger.Jobs.Read(ctx, operation.Key("jobs/"+text)); err == nil {
		return link("/console/operation", theKey, "jobs/"+text, "q", text)
	}
	if _, _, err := c.ledger.Quarantine.Read(ctx, text); err == nil {
		return link("/console/quarantined", theKey, text, "q", text)
	}
	if key, err := c.ledger.Operations.FindDelivery(ctx, text); err == nil {
		return link("/console/operation", theKey, string(key), "q", text)
	}
	if err == nil && name.Key.Collection() != "" {
		text = string(name.Key)
	}
	return link(operationsPath, "find", text, "q", text)
}

// known reports whether the ledger has an operation of that name. What cannot be read is taken for known: its page
// shows the error.
func (c *Console) known(ctx context.Context, name operation.Name) bool {
	found, err := c.ledger.Operations.Find(ctx, name)
	if err != nil || len(found) == 0 {
		return err != nil
	}
	_, err = c.ledger.Operations.Show(ctx, found[0])
	return !errors.Is(err, ledger.ErrNotFound)
}
