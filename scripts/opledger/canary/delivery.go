package canary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/ledger"
)

// deliver sends a signed delivery to the public address, finds it in the ledger, and removes it.
func (c *Canary) deliver(ctx context.Context, s *Step) error {
	if c.URL == "" {
		s.LeftOut = "the deployment has no static webhook (OPLEDGER_WEBHOOK)"
		return nil
	}
	secret, err := c.SigningSecret(ctx)
	if err != nil {
		return cut("opledger webhook check", "there is no secret to sign with: %w", err)
	}
	defer c.forget(ctx, s)
	answer, err := c.post(ctx, secret)
	if err != nil {
		return err
	}
	s.did("the signed delivery was answered 200 %s", answer.Outcome)
	if answer.Outcome == confirm.Ignored {
		s.did("nothing was recorded: Webhook asks Gemini about every delivery (OPLEDGER_CONFIRM), and it answered %s",
			answer.Reason)
		return nil
	}
	return c.recorded(ctx, s, answer)
}

// post delivers the event until it is not answered 503, as Gemini does, for a minute, and returns the answer 200.
// Webhook may not have read its secret in time at first, and tries again after 30 s.
func (c *Canary) post(ctx context.Context, secret string) (webhook.Answer, error) {
	var (
		a           webhook.Answer
		unavailable error
	)
	accepted, err := c.await(ctx, oneMinute, func() (bool, error) {
		status, text, err := c.once(ctx, secret)
		if err != nil {
			return false, err
		}
		if status == http.StatusOK && json.Unmarshal(text, &a) == nil && a.Outcome != "" {
			return true, nil
		}
		unavailable = c.refused(status, text)
		if status == http.StatusServiceUnavailable {
			return false, nil
		}
		return false, unavailable
	})
	if err == nil && !accepted {
		err = unavailable
	}
	return a, err
}

// once delivers the event once, and returns the status and the body of the answer.
func (c *Canary) once(ctx context.Context, secret string) (int, []byte, error) {
	now := c.Now()
	body, err := json.Marshal(map[string]any{
		"type": "batch.succeeded", "version": "v1", "timestamp": now.UTC().Format(time.RFC3339),
		"data": map[string]string{"id": string(c.key)},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("encoding the delivery: %w", err)
	}
	header, err := gemini.SignedHeader(secret, c.key.ID(), now, body)
	if err != nil {
		return 0, nil, cut("opledger webhook check",
			"the newest version of the webhook's secret is not a signing secret: %w", err)
	}
	return c.send(ctx, "delivery", "OPLEDGER_WEBHOOK_URL", c.URL, header, body)
}

// send posts what the canary sends, such as a delivery, to the address in a variable.
func (c *Canary) send(ctx context.Context, what, variable, address string, header http.Header, body []byte) (
	status int, text []byte, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, oneMinute) // a start of the function takes seconds
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, cut(variable, "the %s cannot be sent: %w", what, err)
	}
	r.Header = header
	response, err := c.HTTP.Do(r)
	if err != nil {
		return 0, nil, cut("the address in "+variable+", and whether it is reached from here", "the %s reached nothing: %w",
			what, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if text, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer)); err != nil {
		return 0, nil, fmt.Errorf("reading the answer to the %s: %w", what, err)
	}
	return response.StatusCode, text, nil
}

// maxAnswer bounds, in bytes, what is read of an answer.
const maxAnswer = 64 << 10

// refused says which link refused the delivery.
func (c *Canary) refused(status int, text []byte) error {
	service := c.Place.name("webhook")
	var ours struct {
		Error struct{ Message string }
	}
	said := ""
	if json.Unmarshal(text, &ours) == nil && ours.Error.Message != "" {
		said = ": " + diag.Cut(ours.Error.Message, maxSaid)
	}
	switch {
	case status == http.StatusForbidden && said == "":
		return cut("gcloud run services get-iam-policy "+c.about(service)+
			"; allUsers needs roles/run.invoker, or see infra/README.md on organisations that forbid public functions",
			"%s is not public: the delivery was refused with 403 in front of it", service)
	case status == http.StatusNotFound && said == "":
		return cut("OPLEDGER_WEBHOOK_URL, and gcloud run services describe "+c.about(service),
			"nothing answers at the webhook's address: 404")
	case status == http.StatusUnauthorized && said != "":
		return cut("opledger webhook check. "+service+" reads a new version 30 s after the last at the earliest, "+
			"so try again where the secret was changed just now; otherwise the clock of this machine",
			"%s refused the signature with the newest version of the secret%s", service, said)
	case status == http.StatusOK:
		return cut("OPLEDGER_WEBHOOK_URL", "what answers at the webhook's address is not %s", service)
	}
	return cut(c.logs(service), "the delivery was answered %d%s", status, said)
}

// maxSaid bounds, in bytes, what an error repeats of an answer.
const maxSaid = 300

// recorded checks that the ledger has the delivery, on a record that is kept apart [W5].
func (c *Canary) recorded(ctx context.Context, s *Step, a webhook.Answer) error {
	look := "the database in OPLEDGER_STORE: is it that of the functions? There, " + string(c.key) +
		" expires after the retention"
	story, err := c.Ledger.Operations.Show(ctx, c.key)
	if errors.Is(err, ledger.ErrNotFound) {
		return cut(look, "the delivery was answered 200 %s, and is not in this ledger", a.Outcome)
	}
	if err != nil {
		return cut(look, "the delivery cannot be looked up: %w", err)
	}
	if a.Registered || story.Record.Registered || len(story.Effects) > 0 || len(story.Deliveries) != 1 {
		return cut("opledger show "+string(c.key),
			"the delivery of an operation that is not registered was not kept apart: registered %v, effects %d, deliveries %d",
			story.Record.Registered, len(story.Effects), len(story.Deliveries))
	}
	s.did("the ledger kept it apart as unregistered; removed")
	return nil
}

// forget removes the operation from the ledger. There may be none.
func (c *Canary) forget(ctx context.Context, s *Step) {
	ctx, cancel := cleanUp(ctx)
	defer cancel()
	if _, err := c.Ledger.Operations.Forget(ctx, c.key); err != nil && !errors.Is(err, ledger.ErrNotFound) {
		s.left = append(s.left, cut("opledger forget "+string(c.key), "the canary's operation was not removed: %w", err))
	}
}

// logs is the command that shows what a service logged.
func (c *Canary) logs(service string) string {
	return fmt.Sprintf("gcloud functions logs read %s --gen2 --region=%s --project=%s", service, c.Place.Region,
		c.Place.Project)
}

// about returns the arguments of gcloud that name a service.
func (c *Canary) about(service string) string {
	return fmt.Sprintf("%s --region=%s --project=%s", service, c.Place.Region, c.Place.Project)
}
