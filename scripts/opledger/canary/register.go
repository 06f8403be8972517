package canary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
)

// A Registrar is how a submitter reaches Register.
type Registrar struct {
	URL   string `env:"OPLEDGER_URL"`
	Token string `env:"OPLEDGER_TOKEN"` // an identity token whose audience is URL
}

// register records an intent through Register, as a submitter does, finds it in the ledger, and
// withdraws it.
func (c *Canary) register(ctx context.Context, s *Step) error {
	if c.Registrar.URL == "" || c.Registrar.Token == "" {
		s.LeftOut = "OPLEDGER_URL and OPLEDGER_TOKEN are not both set: the address of Register, and an identity token for it"
		return nil
	}
	id := c.key.ID() + "-register"
	defer c.forgetIntent(ctx, s, id)
	if err := c.postIntent(ctx, id, false); err != nil {
		return err
	}
	service := c.Place.name("register")
	_, err := c.Ledger.Intents.Read(ctx, id)
	if errors.Is(err, ledger.ErrNoIntent) {
		return cut("the database in OPLEDGER_STORE: is it that of the functions?",
			"%s recorded an intent, which is not in this ledger", service)
	}
	if err != nil {
		return cut("the database in OPLEDGER_STORE", "the intent cannot be looked up: %w", err)
	}
	if err := c.postIntent(ctx, id, true); err != nil {
		return err
	}
	if _, err := c.Ledger.Intents.Read(ctx, id); !errors.Is(err, ledger.ErrNoIntent) {
		return cut("opledger intent show "+id, "%s withdrew the intent, and the ledger still has it (%v)", service, err)
	}
	s.did("%s recorded an intent, and withdrew it", service)
	return nil
}

// postIntent records an intent of the canary's, or withdraws it.
func (c *Canary) postIntent(ctx context.Context, id string, withdraw bool) error {
	body, err := json.Marshal(map[string]any{
		"intent": true, "correlationId": id, "attempt": id, "jobKind": JobKind, "collection": "batches", "withdraw": withdraw,
	})
	if err != nil {
		return fmt.Errorf("encoding the intent: %w", err)
	}
	header := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + c.Registrar.Token}}
	status, text, err := c.send(ctx, "intent", "OPLEDGER_URL", c.Registrar.URL, header, body)
	if err != nil {
		return err
	}
	return c.intentAnswered(status, text)
}

// intentAnswered returns which link refused the intent; nil where it was taken.
func (c *Canary) intentAnswered(status int, text []byte) error {
	service := c.Place.name("register")
	switch {
	case (status == http.StatusOK || status == http.StatusCreated) && json.Valid(text):
		return nil
	case status == http.StatusUnauthorized:
		return cut("OPLEDGER_TOKEN: gcloud auth print-identity-token makes one",
			"%s was called with a token that is not for it, or has expired (401)", service)
	case status == http.StatusForbidden:
		return cut("gcloud run services get-iam-policy "+c.about(service)+
			"; the account of OPLEDGER_TOKEN needs roles/run.invoker there (register_callers, --register-caller)",
			"the account of OPLEDGER_TOKEN may not invoke %s (403)", service)
	case status == http.StatusNotFound, status == http.StatusOK, status == http.StatusCreated:
		return cut("OPLEDGER_URL, and gcloud run services describe "+c.about(service),
			"what answers %d at the address in OPLEDGER_URL is not %s", status, service)
	}
	return cut(c.logs(service),
		"the intent was answered %d: %s", status, diag.Cut(strings.TrimSpace(string(text)), maxSaid))
}

// forgetIntent removes the intent from the ledger. There is none where all went well.
func (c *Canary) forgetIntent(ctx context.Context, s *Step, id string) {
	ctx, cancel := cleanUp(ctx)
	defer cancel()
	if _, err := c.Ledger.Intents.Withdraw(ctx, id, id); err != nil && !errors.Is(err, ledger.ErrNoIntent) {
		s.left = append(s.left, cut("opledger intent forget "+id, "the canary's intent was not removed: %w", err))
	}
}
