package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/trust"
)

// A guard protects every route that is not public; doc.go has its rules.
type guard struct {
	exposed bool     // the listener is not bound to loopback
	hosts   []string // allowed besides loopback's
	token   string   // empty: only local callers
	key     string   // of this run, for commands; empty: none
	push    *trust.Push
	origins *http.CrossOriginProtection
	now     func() time.Time
	log     *slog.Logger
}

// newGuard returns the guard of an exposed listener. keysURL replaces the URL of Google's keys
// unless it is empty.
func newGuard(
	access config.Access, hosts []string, keysURL string, now func() time.Time, log *slog.Logger,
) (*guard, error) {
	g := &guard{exposed: true, origins: http.NewCrossOriginProtection(), now: now, log: log}
	if access.Token != config.NoToken {
		g.token = access.Token
	}
	for _, host := range hosts {
		if err := CheckHost(host); err != nil {
			return nil, err
		}
		g.hosts = append(g.hosts, strings.ToLower(host))
	}
	if access.PushAudience != "" {
		var err error
		g.push, err = trust.NewPush(
			trust.PushOptions{Audience: access.PushAudience, Account: access.PushAccount, KeysURL: keysURL})
		if err != nil {
			return nil, fmt.Errorf("OPLEDGER_PUSH_AUDIENCE, OPLEDGER_PUSH_ACCOUNT: %w", err)
		}
	}
	return g, nil
}

// on returns the guard for a listener. An address that it is bound to is a Host like loopback's: only a
// name can be rebound to it.
func (g *guard) on(listener net.Listener) *guard {
	one := *g
	one.exposed = !IsLoopback(listener.Addr())
	if at, ok := listener.Addr().(*net.TCPAddr); ok && !at.IP.IsUnspecified() {
		one.hosts = append(slices.Clone(g.hosts), at.IP.String())
	}
	return &one
}

// A refusal is why a request is refused.
type refusal struct {
	reason string // counted in the log
	answer *httpfunc.Error
	cause  error // for the log alone
}

func refuse(status int, reason, format string, args ...any) *refusal {
	return &refusal{reason: reason, answer: httpfunc.Errorf(status, format, args...)}
}

// protect answers a request that its Host or a check refuses, and hands all others on.
func (g *guard) protect(next http.Handler, checks ...func(*http.Request) *refusal) http.Handler {
	checks = append([]func(*http.Request) *refusal{g.checkHost}, checks...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, check := range checks {
			no := check(r)
			if no == nil {
				continue
			}
			log := g.log
			if no.cause != nil {
				log = log.With("error", no.cause)
			}
			log.WarnContext(r.Context(), "a caller was refused", "event", "auth", "outcome", "refused", "reason", no.reason,
				"host", diag.Cut(r.Host, 100), "peer", r.RemoteAddr)
			if no.answer.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			httpfunc.WriteError(w, no.answer)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *guard) checkHost(r *http.Request) *refusal {
	if host := hostname(r.Host); !api.NamesLoopback(host) && !slices.Contains(g.hosts, host) {
		return refuse(http.StatusForbidden, "host",
			"nothing is served here under the host %s; serve --allow-host allows one", diag.QuoteUpTo(r.Host, 100))
	}
	return nil
}

// checkOrigin refuses a GET of another origin like a POST: how long it takes, and how much comes, may
// tell what is in the ledger.
func (g *guard) checkOrigin(r *http.Request) *refusal {
	asPost := r.WithContext(r.Context()) // a copy
	asPost.Method = http.MethodPost
	if err := g.origins.Check(asPost); err != nil {
		return refuse(http.StatusForbidden, "cross-origin", "a page of another origin may not do this")
	}
	return nil
}

// admitCaller admits local callers, and callers with the token.
func (g *guard) admitCaller(r *http.Request) *refusal {
	switch {
	case g.token != "" && !sameToken(bearer(r), g.token):
		return refuse(http.StatusUnauthorized, "token",
			"send the header Authorization: Bearer with the token of serve, which is in OPLEDGER_SERVE_TOKEN or in the "+
				"file that it named at its start")
	case g.token == "" && !g.local(r):
		return refuse(http.StatusForbidden, "beyond-loopback",
			"only callers on this machine are answered, and none through a proxy; "+
				"to call from elsewhere give serve a token, and send it as a bearer token")
	default:
		return nil
	}
}

// admitCommand admits those whom admitCaller admits, and commands with the key of this run.
func (g *guard) admitCommand(r *http.Request) *refusal {
	if g.key != "" && sameToken(bearer(r), g.key) {
		return nil
	}
	return g.admitCaller(r)
}

// admitPush admits local callers, and Pub/Sub's pushes from anywhere.
func (g *guard) admitPush(r *http.Request) *refusal {
	if g.local(r) {
		if no := g.admitCaller(r); no == nil || g.push == nil {
			return no
		}
	}
	if g.push == nil {
		return refuse(http.StatusForbidden, "push-off", "from beyond this machine /effects accepts only Pub/Sub's pushes, "+
			"and that is off: set OPLEDGER_PUSH_AUDIENCE and OPLEDGER_PUSH_ACCOUNT for serve")
	}
	no := refuse(http.StatusUnauthorized, "push-token", "this is not the identity token of the push subscription "+
		"with the audience and the account in OPLEDGER_PUSH_AUDIENCE and OPLEDGER_PUSH_ACCOUNT")
	switch no.cause = g.push.Verify(r.Context(), bearer(r), g.now()); {
	case no.cause == nil:
		return nil
	case errors.Is(no.cause, trust.ErrUnavailable):
		later := refuse(http.StatusServiceUnavailable, "unavailable", "Google's keys cannot be fetched now")
		later.cause = no.cause
		return later
	default:
		return no
	}
}

// local reports whether a request certainly comes from this machine. Proxies that add no header speak
// HTTP/1.0, nginx by default.
func (g *guard) local(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return !g.exposed && err == nil && r.ProtoAtLeast(1, 1) && peer.Addr().Unmap().IsLoopback() &&
		api.NamesLoopback(hostname(r.Host)) && !forwarded(r.Header)
}

// forwarded reports whether a proxy or a tunnel has forwarded a request.
func forwarded(h http.Header) bool {
	for name := range h {
		switch name {
		case "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Cf-Ray", "Fly-Client-Ip":
			return true
		}
		if strings.HasPrefix(name, "X-Forwarded-") || strings.HasPrefix(name, "X-Original-") {
			return true
		}
	}
	return false
}

// bearer returns the token in the one Authorization header of a request, or nothing.
func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// sameToken compares in a time that reveals neither the tokens nor their lengths.
func sameToken(a, b string) bool {
	hashA, hashB := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(hashA[:], hashB[:]) == 1
}

// hostname returns the name in a Host header, without its port.
func hostname(host string) string {
	u := url.URL{Host: host}
	return strings.ToLower(u.Hostname())
}

// IsLoopback reports whether only this machine can connect to a listener with that address.
func IsLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

var hostPattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// CheckHost returns nil for a host name or an IP address, alone.
func CheckHost(text string) error {
	if _, err := netip.ParseAddr(text); err != nil && !hostPattern.MatchString(text) {
		return fmt.Errorf("it must be a host name alone, such as ledger.example, without scheme, port or pattern, not %s",
			diag.QuoteUpTo(text, 100))
	}
	return nil
}
