package trust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/gemini"
)

// A Secret is one enabled version of the webhook's signing secret. Its value is never printed.
type Secret struct {
	// Name tells the version apart, in errors and in the log: its resource name.
	Name string
	// Value is "whsec_" and base64, as for gemini.NewVerifier.
	Value string `json:"-"`
}

// String is the name.
func (s Secret) String() string { return s.Name }

// GoString is the name, for %#v.
func (s Secret) GoString() string { return fmt.Sprintf("trust.Secret(%s)", s.Name) }

// SecretsOptions say how secrets are fetched.
type SecretsOptions struct {
	// Caching is by default a time to live of 5 minutes, a gap of 30 seconds, and an hour past the
	// time to live.
	Caching
	// Log gets malformed versions and failing fetches. Nil: nothing is logged.
	Log *slog.Logger
}

// Secrets are the enabled versions of the webhook's signing secret. They are safe for concurrent
// use and never printed.
type Secrets struct {
	fixed *versions // nil: they are fetched
	cache *cache[versions]
}

// versions is a set of secrets.
type versions struct {
	verifier *gemini.Verifier // nil: there are none
}

// NewSecrets returns secrets that fetch reads when they are needed. fetch returns all enabled
// versions, none if there is none. It has 5 s and must end when its context does. It is never
// called concurrently, nor twice within the gap. Its errors are logged and must not hold a secret.
// Keep one Secrets per process: the gap is counted by each of them.
func NewSecrets(fetch func(context.Context) ([]Secret, error), o SecretsOptions) *Secrets {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Secrets{cache: &cache[versions]{
		fetch: func(ctx context.Context) (*versions, error) {
			secrets, err := fetch(ctx)
			if err != nil {
				return nil, fmt.Errorf("fetching the webhook's secrets: %w", err)
			}
			return newVersions(secrets)
		},
		report: func(err error) {
			if err == nil {
				log.Info("all webhook secrets can be read again", "event", "auth", "outcome", "renewed")
				return
			}
			log.Error("not all webhook secrets can be read; the others are used", "event", "auth",
				"outcome", "stale-secrets", "error", err)
		},
		Caching: o.or(Caching{TTL: 5 * time.Minute, Gap: 30 * time.Second, MaxStale: time.Hour}),
	}}
}

// FixedSecrets returns secrets that never change and are never fetched. Its errors are those of
// gemini.NewVerifier.
func FixedSecrets(values ...string) (*Secrets, error) {
	verifier, err := gemini.NewVerifier(values...)
	if err != nil {
		return nil, err
	}
	return &Secrets{fixed: &versions{verifier: verifier}}, nil
}

// newVersions returns the well-formed secrets, with an error that names the others. If none is
// well-formed, there is only the error.
func newVersions(secrets []Secret) (*versions, error) {
	var values []string
	var problems []error
	for _, secret := range secrets {
		if _, err := gemini.NewVerifier(secret.Value); err != nil {
			problems = append(problems, fmt.Errorf("version %s: %w", secret.Name, err))
			continue
		}
		values = append(values, secret.Value)
	}
	malformed := errors.Join(problems...)
	if len(values) == 0 {
		if malformed != nil {
			return nil, malformed
		}
		return &versions{}, nil
	}
	verifier, err := gemini.NewVerifier(values...)
	if err != nil {
		return nil, err
	}
	return &versions{verifier: verifier}, malformed
}

// Load fetches the secrets unless they are known, so that mistakes show at the start. The error
// wraps gemini.ErrSecret and names each malformed version: do not start; fix or disable the
// version. It is gemini.ErrNoSecret if there is no version: start, and answer 503 until there is
// one, which Verify notices. Otherwise it wraps ErrUnavailable and the cause, and Verify fetches
// again. Within the gap a second Load returns the result of the first.
func (s *Secrets) Load(ctx context.Context, now time.Time) error {
	set, err := s.get(ctx, now)
	if err != nil {
		return err
	}
	if set.verifier == nil {
		return gemini.ErrNoSecret
	}
	return nil
}

// verify checks a static signature, but not its time, against every secret. If none fits, it
// fetches the secrets once more, because the delivery may be signed with a new version. Nil Secrets are none.
func (s *Secrets) verify(ctx context.Context, header http.Header, body Body, now time.Time) error {
	if s == nil {
		return gemini.ErrNoSecret
	}
	set, err := s.get(ctx, now)
	if err != nil {
		return err
	}
	if err = set.verify(header, body); s.fixed != nil || !unfit(err) {
		return err
	}
	newer := s.cache.renew(ctx, now, set)
	if newer == set {
		return err
	}
	return newer.verify(header, body)
}

// unfit reports whether another version of the secret may fit where err came from this one.
func unfit(err error) bool {
	return err == gemini.ErrSignature || errors.Is(err, gemini.ErrNoSecret) //nolint:errorlint // what wraps it did fit
}

func (s *Secrets) get(ctx context.Context, now time.Time) (*versions, error) {
	if s.fixed != nil {
		return s.fixed, nil
	}
	return s.cache.get(ctx, now)
}

func (v *versions) verify(header http.Header, body Body) error {
	if v.verifier == nil {
		return gemini.ErrNoSecret
	}
	text, err := body()
	if err != nil {
		return err
	}
	if err := v.verifier.Verify(header, text); err != nil {
		return err
	}
	if ambiguous(header.Get(gemini.HeaderID), text) {
		return ErrAmbiguous
	}
	return nil
}

// String says nothing about the secrets, however s is printed.
func (s *Secrets) String() string { return "trust.Secrets" }

// GoString is String, for %#v.
func (s *Secrets) GoString() string { return s.String() }
