// Package frontdoor simulates what Google Cloud puts in front of functions, which the emulators lack:
// a request reaches a service only with a token that Google signed for that service, of an account
// that may invoke it.
//
//	no such service           404
//	no token                  403, unless allUsers may invoke the service
//	an invalid token          401: wrong signer or audience, or expired
//	an account without access 403
//
// In all of these cases no code of the function runs, so that its log has no line.
package frontdoor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// AllUsers is the member that admits requests without a token.
const AllUsers = "allUsers"

// issuer signs the tokens of Google's accounts.
const issuer = "https://accounts.google.com"

// A Service is a deployed function.
type Service struct {
	Name string // in the log of requests
	URL  string // without a path; the audience of tokens
	// Invokers are the members with roles/run.invoker on it, in the form of IAM.
	Invokers []string
	Function http.Handler
}

// A Cloud routes requests to services by their hosts, and signs the tokens. It is safe for
// concurrent use.
type Cloud struct {
	// Log, if not nil, is called with each request to a service and the status of its answer, also
	// where it was refused: the platform's own log of requests. It is set before the first request.
	Log func(s Service, r *http.Request, status int)

	key *ecdsa.PrivateKey // Google's is of RSA; that one takes long to make, and only the cloud checks it
	now func() time.Time

	mu       sync.Mutex
	services map[string]Service // by host
}

// New returns a cloud without services, on the clock now.
func New(now func() time.Time) (*Cloud, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key that tokens are signed with: %w", err)
	}
	return &Cloud{key: key, now: now, services: map[string]Service{}}, nil
}

// Deploy makes a service, or replaces the one with the same host.
func (c *Cloud) Deploy(s Service) error {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return fmt.Errorf("%q is not the address of a service", s.URL)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.services[u.Host] = s
	return nil
}

// Token returns a token of an account for an audience, valid for an hour.
func (c *Cloud) Token(account, audience string) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: c.key}, nil)
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	now := c.now()
	token, err := jwt.Signed(signer).
		Claims(jwt.Claims{Issuer: issuer, Audience: jwt.Audience{audience}, IssuedAt: jwt.NewNumericDate(now),
			Expiry: jwt.NewNumericDate(now.Add(time.Hour))}).
		Claims(map[string]any{"email": account, "email_verified": true}).Serialize()
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return token, nil
}

// ServeHTTP forwards a request to the service of its host, or refuses it.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	service, ok := c.services[r.Host]
	c.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	status := c.judge(service, r.Header.Get("Authorization"))
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
	} else {
		answer := &recorder{ResponseWriter: w, status: status}
		service.Function.ServeHTTP(answer, r)
		status = answer.status
	}
	if c.Log != nil {
		c.Log(service, r, status)
	}
}

// judge returns 200, or the status with which a request with this Authorization header is refused.
func (c *Cloud) judge(service Service, authorization string) int {
	if slices.Contains(service.Invokers, AllUsers) {
		return http.StatusOK
	}
	text, ok := strings.CutPrefix(authorization, "Bearer ")
	if !ok {
		return http.StatusForbidden
	}
	token, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return http.StatusUnauthorized
	}
	var claims jwt.Claims
	var who struct {
		Email string `json:"email"`
	}
	if token.Claims(c.key.Public(), &claims, &who) != nil ||
		claims.Validate(jwt.Expected{Issuer: issuer, AnyAudience: jwt.Audience{service.URL}, Time: c.now()}) != nil {
		return http.StatusUnauthorized
	}
	if !slices.Contains(service.Invokers, "serviceAccount:"+who.Email) {
		return http.StatusForbidden
	}
	return http.StatusOK
}

// A Caller is a service of Google's that calls one of ours: a push subscription, or a scheduler
// job. As a handler it receives what an emulator pushes, and forwards it with the token that the
// real one would add.
type Caller struct {
	Cloud *Cloud
	// Endpoint is the whole address that it calls.
	Endpoint string
	// Account and Audience are those of the token that it adds.
	Account, Audience string
	// UserAgent is what it calls itself; empty: as the emulator does.
	UserAgent string
	// MaySign is whether the caller's own agent may make tokens of Account. If not, nothing is
	// sent.
	MaySign bool
}

// Call sends a body, and returns the status of the answer; 0 if nothing could be sent.
func (c Caller) Call(r *http.Request, body io.Reader) (status int, err error) {
	if !c.MaySign {
		return 0, nil
	}
	token, err := c.Cloud.Token(c.Account, c.Audience)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, c.Endpoint, body)
	if err != nil {
		return 0, fmt.Errorf("calling %s: %w", c.Endpoint, err)
	}
	request.Header = r.Header.Clone()
	request.Header.Set("Authorization", "Bearer "+token)
	if c.UserAgent != "" {
		request.Header.Set("User-Agent", c.UserAgent)
	}
	answer := &recorder{ResponseWriter: discarded{header: http.Header{}}, status: http.StatusOK}
	c.Cloud.ServeHTTP(answer, request)
	return answer.status, nil
}

// ServeHTTP forwards a push, and its answer; 502 if nothing could be sent.
func (c Caller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, err := c.Call(r, r.Body)
	if err != nil || status == 0 {
		status = http.StatusBadGateway
	}
	w.WriteHeader(status)
}

// A recorder keeps the status of an answer that it passes on.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// discarded takes an answer of which only the status counts.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}
