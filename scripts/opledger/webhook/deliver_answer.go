package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// deliverTimeout is enough for a function that has to start first.
const deliverTimeout = time.Minute

// maxDeliverAnswer bounds, in bytes, what is read of an answer.
const maxDeliverAnswer = 64 << 10

// send posts the delivery, and prints the answer with what it means. The error is that of a
// delivery that was not accepted.
func (d delivery) send(ctx context.Context, outside terminal.Environment) error {
	ctx, cancel := context.WithTimeout(ctx, deliverTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, d.to, bytes.NewReader(d.body))
	if err != nil {
		return fmt.Errorf("making the request: %w", err)
	}
	request.Header = d.header
	client := &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		// Standard Webhooks counts a redirect as a failed attempt.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("nothing answers at %s: %w; start serve, or name the webhook with --to", d.to,
			diag.WithoutURL(err))
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDeliverAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", d.to, err)
	}
	answered := fmt.Sprintf("%s was answered %d %s", d.event.DeliveryID, response.StatusCode,
		phrase.Safe(diag.Cut(strings.TrimSpace(string(text)), 500)))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", answered, d.refused(response.StatusCode, text))
	}
	var a webhook.Answer
	if json.Unmarshal(text, &a) != nil || a.Outcome == "" {
		return fmt.Errorf("%s: what answers at %s is not the webhook of opledger; name another address with --to",
			answered, d.to)
	}
	return outside.Print(map[string]any{
		"delivery": d.event.DeliveryID, "operation": d.event.Name.Key, "outcome": a.Outcome, "reason": a.Reason,
		"registered": a.Registered,
	}, "%s\n%s", answered, d.meaning(a))
}

// meaning says what a 200 means for the operation.
func (d delivery) meaning(a webhook.Answer) string {
	key := phrase.Safe(string(d.event.Name.Key))
	switch a.Outcome {
	case ledger.Applied:
		if !a.Registered {
			return fmt.Sprintf("%s is recorded as %s and is not registered: no effect runs before opledger register %s%s",
				key, d.event.State, phrase.ShellWord(string(d.event.Name.Key)), d.ledger)
		}
		return fmt.Sprintf("%s is %s now, and the effects of that are planned", key, d.event.State)
	case ledger.Dropped:
		return d.dropped(key, a.Reason)
	case ledger.Duplicate:
		return "a delivery with this id was accepted before, and nothing is done twice; --id names another"
	case ledger.Conflict:
		return key + " had ended in another state, which stays; the conflict is recorded"
	case confirm.Ignored:
		return fmt.Sprintf("nothing is recorded: the receiver asked Gemini about %s, and learned: %s", key, a.Reason)
	case confirm.Kept:
		return fmt.Sprintf("Gemini does not know %s (%s): the name is kept with the intent that waits, and looked up later",
			key, a.Reason)
	default:
		return fmt.Sprintf("it is accepted as %s, reason %s", a.Outcome, a.Reason)
	}
}

// dropped says why a delivery changed nothing.
func (d delivery) dropped(key string, reason operation.Reason) string {
	switch reason {
	case operation.RegressFromTerminal:
		return fmt.Sprintf("%s has ended already; %s is dropped", key, d.event.State)
	case operation.LowerRank:
		return fmt.Sprintf("%s is further than %s already, and does not go back", key, d.event.State)
	case operation.StaleOrEqualUpdateTime:
		return fmt.Sprintf("the ledger knows that %s is %s, as of that time or later; nothing changes", key, d.event.State)
	case operation.TerminalConflict:
		return key + " had ended in another state, which stays; an operator has resolved the conflict"
	default:
		return fmt.Sprintf("nothing changes (%s)", reason)
	}
}

// refused says what an answer other than 200 means, and what to do.
func (d delivery) refused(status int, text []byte) string {
	var answered struct{ Error httpfunc.Error }
	_ = json.Unmarshal(text, &answered) // another server's answer has no reason
	switch reason := answered.Error.Reason; {
	case status == http.StatusUnauthorized && reason == webhook.ReasonStale:
		return "it is too old or too new for the receiver's OPLEDGER_TOLERANCE, and nothing is written; " +
			"without --at it is sent as of now"
	case status == http.StatusUnauthorized && reason == webhook.ReasonSignature:
		return "the receiver has another secret than the one in OPLEDGER_WEBHOOK_SECRET here, and nothing is written"
	case status == http.StatusForbidden:
		return "the webhook is not public there, or --to names something else; a deployed Webhook must allow everyone"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusUnauthorized:
		return "no webhook is at " + d.to + "; serve has it at /webhook, a deployment at the address of Webhook itself"
	case status == http.StatusServiceUnavailable:
		return "it is not accepted now, and nothing is lost: Gemini would deliver it again"
	default:
		return "it is not accepted; Gemini would deliver it again, for 24 hours"
	}
}
