package trust

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini"
)

var (
	// ErrUnavailable says that the secrets or keys to verify with could not be fetched, and those
	// known, if any, are too old. It wraps the cause. A redelivery may be verified.
	ErrUnavailable = errors.New("the secrets or keys to verify with cannot be fetched")
	// ErrStale says that a proof is genuine but its time is outside the tolerance [W2]. It is apart
	// from gemini.ErrSignature because only the original sender can cause it: it shows a sender
	// that does not refresh the time of a redelivery.
	ErrStale = errors.New("webhook timestamp is outside the tolerance")
	// ErrNoAudience is the [gemini.ErrSignature] for a token while no audience is set, so that no
	// token is accepted. It is counted apart because it is a mistake in the settings where jobs
	// have a webhook_config, and no forgery.
	ErrNoAudience = fmt.Errorf("%w: it is a token, and no accepted audience is set", gemini.ErrSignature)
	// ErrAmbiguous is the [gemini.ErrSignature] for a static signature that also fits another
	// division into id, timestamp and body. It is counted apart because only a holder of the secret
	// can cause it, or a caller who divides a captured delivery.
	ErrAmbiguous = fmt.Errorf("%w: the signed text can be split into id, timestamp and body in another way",
		gemini.ErrSignature)
	// ErrUndated is the [gemini.ErrSignature] for a genuine token with neither exp nor iat, which a
	// holder could use for ever. It is counted apart because Gemini may make such tokens one day.
	ErrUndated = fmt.Errorf("%w: the token has neither exp nor iat", gemini.ErrSignature)
	// ErrOldToken is the [ErrStale] for a token without exp whose iat is more than 25 hours ago.
	ErrOldToken = fmt.Errorf("%w: the token has no exp, and its iat is more than %s ago", ErrStale, maxTokenAge)
)

// Options say what a Gate accepts.
type Options struct {
	// Tolerance is how far a delivery's time may be off, either way [W2], and the leeway for the times
	// in a token. It must be positive.
	Tolerance time.Duration
	// Static verifies "v1," signatures. Nil: no secret is set, and the error is gemini.ErrNoSecret.
	Static *Secrets
	// Dynamic verifies tokens. Nil: no audience is set, and the error is ErrNoAudience.
	Dynamic *Tokens
}

// A Gate verifies static and dynamic deliveries. It is safe for concurrent use and never prints
// secrets or keys.
type Gate struct{ options Options }

// New returns a gate. The error is about a tolerance that is not positive.
func New(o Options) (*Gate, error) {
	if o.Tolerance <= 0 {
		return nil, fmt.Errorf("making a webhook gate: tolerance %v is not positive", o.Tolerance)
	}
	return &Gate{options: o}, nil
}

// A Proof says what a verified delivery proves.
type Proof struct {
	// Bound says that the signature covers the body. It is false for every token, because Gemini
	// documents no claim that binds one. Then any holder of a token may have sent the body, the id and
	// the timestamp, and the delivery is unverified until a look-up confirms it.
	Bound bool
	// Claims is the verified token's payload, a JSON object; nil for a static signature.
	Claims json.RawMessage
	// Token is a digest of the verified token; empty for a static signature.
	Token string
}

// Verify returns the proof of a delivery that is fresh at now [W2], or an error that is or wraps
// gemini.ErrSignature, ErrStale, gemini.ErrNoSecret or ErrUnavailable. The package documentation
// says how to answer each. A delivery whose time is off by exactly the tolerance is fresh. body
// must return the body as received, before anything parsed it [W1].
//
// Verify calls body only where the headers do not rule the delivery out: for a static signature of
// the right form, while there are secrets. It returns an error of body unchanged, unless a token
// proves the delivery instead.
//
// Verify may fetch secrets or keys. It waits for that for at most 5 s and until ctx ends. The end
// of ctx does not end the fetch, since other callers wait for it too.
func (g *Gate) Verify(ctx context.Context, header http.Header, body Body, now time.Time) (Proof, error) {
	sent, readable := gemini.ParseTimestamp(header.Get(gemini.HeaderTimestamp))
	id, signatures := header.Get(gemini.HeaderID), header.Values(gemini.HeaderSignature)
	if !readable || id == "" || len(id) > maxIDBytes || len(strings.Join(signatures, "")) > maxSignatureBytes {
		return Proof{}, gemini.ErrSignature
	}
	proof, err := g.prove(ctx, header, body, now)
	if err != nil {
		return Proof{}, err
	}
	if age := now.Sub(sent); age > g.options.Tolerance || age < -g.options.Tolerance {
		return Proof{}, ErrStale
	}
	return proof, nil
}

// prove checks the signatures and the token that the delivery has, and only the times in the token.
func (g *Gate) prove(ctx context.Context, header http.Header, body Body, now time.Time) (Proof, error) {
	static, token := offered(header.Values(gemini.HeaderSignature))
	var problems []error
	if static {
		err := g.options.Static.verify(ctx, header, body, now)
		if err == nil {
			return Proof{Bound: true}, nil
		}
		problems = append(problems, err)
	}
	if token != "" {
		claims, err := g.options.Dynamic.verify(ctx, token, now, g.options.Tolerance)
		if err == nil {
			digest := sha256.Sum256([]byte(token))
			return Proof{Claims: claims, Token: string(digest[:])}, nil
		}
		problems = append(problems, err)
	}
	return Proof{}, gravest(problems)
}

// gravest returns the error to answer with. First comes one that a redelivery may not have, then a
// genuine proof of the wrong time, then one that is counted apart, then ErrSignature.
func gravest(problems []error) error {
	worst := gemini.ErrSignature
	for _, err := range problems {
		switch {
		case errors.Is(err, ErrStale):
			worst = err
		case !errors.Is(err, gemini.ErrSignature):
			return err
		case worst == gemini.ErrSignature: //nolint:errorlint // what wraps it is counted apart
			worst = err
		}
	}
	return worst
}

// String says which kinds of proof g accepts. It prints no secret and no key.
func (g *Gate) String() string {
	return fmt.Sprintf("trust.Gate(static %t, dynamic %t)", g.options.Static != nil, g.options.Dynamic != nil)
}

// GoString is String, for %#v.
func (g *Gate) GoString() string { return g.String() }
