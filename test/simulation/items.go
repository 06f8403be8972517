package simulation

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// eachRule is the effect that runs once per item of a batch's result, for jobs of one kind.
const (
	eachRule  = "each"
	plainKind = "nightly"
	batchKind = "nightly-batch"
	mostItems = 12 // of a result
)

// kind returns the job kind of an order.
func (o *order) kind() string {
	if o.items > 0 {
		return batchKind
	}
	return plainKind
}

// each returns the real handler of an effect that runs once per item.
func (a *actor) each(one effect.Handler) effect.Handler {
	return items.Each(one, items.Options{
		Ledger: a.ledger(), Results: fetched(), Log: slog.New(slog.DiscardHandler),
	})
}

// fetched is the real client of results. Like that of look-ups it is one for all worlds.
var fetched = sync.OnceValue(func() *results.Client {
	client, err := results.New(results.Options{
		APIKey: "simulated", BaseURL: base, HTTP: &http.Client{Transport: resultTripper{}},
	})
	if err != nil {
		panic(err) // the options are this package's own
	}
	return client
})

// A resultTripper makes a request for a result, whose context knows the actor.
type resultTripper struct{}

// RoundTrip makes the request.
func (resultTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	a, ok := r.Context().Value(actorKey{}).(*actor)
	if !ok {
		return nil, errors.New("simulated: a request of no actor")
	}
	return a.w.gemini.serve(a, r, fetching, fetchFates)
}

// output is the result of a batch, as the API shows it; nil where there is none. Each read gives another
// order, which follows from the step.
func (j *batch) output(state operation.State, step int) map[string]any {
	if j.items == 0 || state != operation.Succeeded {
		return nil
	}
	var items []map[string]any
	for _, i := range rand.New(rand.NewPCG(uint64(step), 0)).Perm(j.items) {
		items = append(items, map[string]any{
			"metadata": map[string]any{"key": itemKey(i)}, "response": map[string]any{"text": fmt.Sprint(i)},
		})
	}
	return map[string]any{"inlinedResponses": map[string]any{"inlinedResponses": items}}
}

// itemKey is the submitter's key of a request.
func itemKey(i int) string { return fmt.Sprintf("review-%d", i+1) }

// keysOf returns the idempotency keys under which an effect is performed: its own, or those of the
// items.
func (c *checker) keysOf(e ledger.Effect) []string {
	j := c.batchOf(e.Operation)
	if ledger.RuleOf(e.Name) != eachRule || j == nil {
		return []string{e.IdempotencyKey}
	}
	var keys []string
	for i := range j.items {
		keys = append(keys, operation.ItemIdempotencyKey(e.Operation, e.Name, itemKey(i)))
	}
	return keys
}

// sentItem checks that an item is not sent whose end is recorded [S2].
func (c *checker) sentItem(task effect.Task) {
	if task.Item == nil {
		return
	}
	path := ledger.ItemPath(task.Operation, task.Effect, task.Item.Key)
	if item, _ := dataOf[ledger.Item](c.w.store.documents[path]); item.State == ledger.ItemDone {
		c.violated("%s is sent by fence %d, and is DONE [S2]", task.IdempotencyKey, task.Fence)
	}
}
