package trust

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/gemini"
)

var (
	// ErrUnavailable says that it is not known whether a request is genuine: the secrets or keys could not be
	// fetched, and none are known or those that are known are too old. It wraps the cause. A later delivery may be
	// verified.
	ErrUnavailable = errors.New("the secrets or keys to verify with cannot be fetched")
	// ErrStale says that a proof is genuine but its time is outside the tolerance [W2]. It is apart from
	// gemini.ErrSignature because only the sender of the original can cause it: a sender that does not
	// refresh the time on a retry shows here.
	ErrStale = errors.New("webhook timestamp is outside the tolerance")
	// ErrNoAudience is the [gemini.ErrSignature] for a token where none are accepted, because no audience is set. It
	// is apart so that it can be counted: with jobs that have a webhook_config, it is a mistake in the settings and
	// no forgery.
	ErrNoAudience = fmt.Errorf("%w: it is a token, and no accepted audience is set", gemini.ErrSignature)
	// ErrAmbiguous is the [gemini.ErrSignature] for a static signature that fits another delivery,
	// too: a part of the id or of the body may be the timestamp instead. It is apart so that it can
	// be counted: only a sender with the secret causes it, or a caller who divides what such a
	// sender signed.
	ErrAmbiguous = fmt.Errorf("%w: what is signed can be divided into id, timestamp and body in another way",
		gemini.ErrSignature)
	// ErrUndated is the [gemini.ErrSignature] for a token of Gemini's that has neither exp nor iat:
	// who has seen it once could use it for ever. It is apart because it may be how Gemini makes
	// them one day.
	ErrUndated = fmt.Errorf("%w: the token has neither exp nor iat", gemini.ErrSignature)
	// ErrOldToken is the [ErrStale] for a token without exp that was made more than 25 hours
	// ago.
	ErrOldToken = fmt.Errorf("%w: the token has no exp, and its iat is more than %s ago", ErrStale, maxTokenAge)
)

// Options are what a Gate believes.
type Options struct {
	// Tolerance is how far a delivery's time may be off, either way [W2], and the leeway for the times in a token. It
	// must be positive.
	Tolerance time.Duration
	// Static verifies "v1," signatures. Nil: no secret is set, and their error is gemini.ErrNoSecret.
	Static *Secrets
	// Dynamic verifies tokens. Nil: no audience is set, and their error is ErrNoAudience.
	Dynamic *Tokens
}

// A Gate verifies deliveries, static and dynamic. It is safe for concurrent use and never prints what it verifies with.
type Gate struct{ options Options }

// New returns a gate. The error is about a tolerance that is not positive.
func New(o Options) (*Gate, error) {
	if o.Tolerance <= 0 {
		return nil, fmt.Errorf("making a webhook gate: tolerance %v is not positive", o.Tolerance)
	}
	return &Gate{options: o}, nil
}

// A Proof is how far a delivery may be believed.
type Proof struct {
	// Bound says that the signature covers the body. It is false for every token: Gemini documents no claim that
	// binds one. Then the body, the id and the timestamp may be anybody's who has seen a token, and are a hint to be
	// confirmed.
	Bound bool
	// Claims is the verified token's payload, a JSON object; nil for a static signature.
	Claims json.RawMessage
	// Token tells the verified token from others without repeating it; empty for a static
	// signature.
	Token string
}

// Verify returns the proof that a delivery carries, its body as received and before anything parsed it [W1], fresh at
// now [W2]. The error is or wraps gemini.ErrSignature, ErrStale, gemini.ErrNoSecret or ErrUnavailable; see the
// package's documentation for what to answer. Exactly the tolerance is still fresh.
//
// Verify calls body only where the headers leave the decision to it: for a static signature of the
// right form, while there are secrets. An error of body is returned as it is, unless a token does
// instead.
//
// Verify may fetch secrets or keys, and waits for that for 5 seconds at most or until ctx ends, whichever is first;
// ending ctx does not end the fetch, because others wait for it.
func (g *Gate) Verify(ctx context.Context, header http.Header, body Body, now time.Time) (Proof, error) {
	sent, readable := gemini.ParseTimestamp(header.Get(gemini.HeaderTimestamp))
	id, signatures := header.Get(gemini.HeaderID), header.Values(gemini.HeaderSignature)
	if !readable || id == "" || len(id) > maxIDBytes || size(signatures) > maxSignatureBytes {
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

// prove tries what the delivery offers. It looks at no timestamp but a token's own.
func (g *Gate) prove(ctx context.Context, header http.Header, body Body, now time.Time) (Proof, error) {
	static, token := offered(header.Values(gemini.HeaderSignature))
	var problems []error
	if static {
		err := g.proveStatic(ctx, header, body, now)
		if err == nil {
			return Proof{Bound: true}, nil
		}
		problems = append(problems, err)
	}
	if token != "" {
		claims, err := g.proveDynamic(ctx, token, now)
		if err == nil {
			digest := sha256.Sum256([]byte(token))
			return Proof{Claims: claims, Token: string(digest[:])}, nil
		}
		problems = append(problems, err)
	}
	return Proof{}, gravest(problems)
}

func (g *Gate) proveStatic(ctx context.Context, header http.Header, body Body, now time.Time) error {
	if g.options.Static == nil {
		return gemini.ErrNoSecret
	}
	return g.options.Static.verify(ctx, header, body, now)
}

func (g *Gate) proveDynamic(ctx context.Context, token string, now time.Time) ([]byte, error) {
	if g.options.Dynamic == nil {
		return nil, ErrNoAudience
	}
	return g.options.Dynamic.verify(ctx, token, now, g.options.Tolerance)
}

// gravest returns the error to answer with: first that it is not known, because then the delivery must be retried, then
// that a genuine proof is too old or too new, then one to be counted apart, then that nothing fits.
func gravest(problems []error) error {
	worst := gemini.ErrSignature
	for _, err := range problems {
		switch {
		case errors.Is(err, ErrStale):
			worst = err
		case !errors.Is(err, gemini.ErrSignature):
			return err
		case err != gemini.ErrSignature && worst == gemini.ErrSignature: //nolint:errorlint // what wraps it is counted apart
			worst = err
		}
	}
	return worst
}

// String says which kinds g believes, and nothing about what it verifies them with, however g is printed.
func (g *Gate) String() string {
	return fmt.Sprintf("trust.Gate(static %t, dynamic %t)", g.options.Static != nil, g.options.Dynamic != nil)
}

// GoString is String, for %#v.
func (g *Gate) GoString() string { return g.String() }
