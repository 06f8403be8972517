package local

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/operation"
)

// APIKey is what clients of a [Gemini] send as their key; it takes any.
const APIKey = "simulated"

// A Gemini is a simulated Gemini that answers on loopback.
type Gemini struct {
	// URL is the base URL for its clients.
	URL string
	// KeysURL is where the keys of its tokens are, which sign the deliveries of dynamic webhooks.
	KeysURL string

	sim *geminisim.Sim
	api *loopback
}

// StartGemini makes a simulator answer on a listener, which it closes at the end. The caller must
// call Close.
func StartGemini(c geminisim.Config, on net.Listener) *Gemini {
	sim := geminisim.New(c)
	api := serveOn(on, onlyLoopback(sim))
	return &Gemini{URL: api.url, KeysURL: api.url + geminisim.JWKSPath, sim: sim, api: api}
}

// SetFaults gives the batches of a job, which are created from now on, faults of their own.
func (g *Gemini) SetFaults(job operation.Key, f geminisim.Faults) {
	g.sim.ScriptPrefix(displayNames(job), geminisim.Script{Faults: &f})
}

// displayNames is how the display name of every batch of a job begins.
func displayNames(job operation.Key) string { return gemini.DisplayName("", string(job)+"/") }

// onlyLoopback refuses a page whose name was rebound to this machine: the simulator posts to
// whatever address a job names [G7].
func onlyLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !api.NamesLoopback((&url.URL{Host: r.Host}).Hostname()) {
			http.Error(w, "the simulated Gemini answers under the names of loopback alone", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// CreateWebhook makes Gemini deliver every event that a webhook can get to a URL. It returns the
// secret that signs them.
func (g *Gemini) CreateWebhook(ctx context.Context, to string) (secret string, err error) {
	client, err := webhooks.NewClient(webhooks.Options{APIKey: APIKey, BaseURL: g.URL})
	if err != nil {
		return "", err
	}
	created, err := client.Create(ctx, "", to)
	if err != nil {
		return "", fmt.Errorf("creating the webhook: %w", err)
	}
	return created.Secret, nil
}

// Stop ends every job, waits for the deliveries in flight, and closes the connections on which they were sent. The API
// still answers. It is called when the functions begin to end: they wait for seconds for a request on each connection
// that was opened and not used, as an HTTP client does where another becomes free meanwhile.
func (g *Gemini) Stop() { g.sim.Close() }

// Close does what Stop does, and closes the listener.
func (g *Gemini) Close() {
	g.Stop()
	g.api.close()
}
