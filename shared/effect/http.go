package effect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// HTTPOptions say how HTTP reaches its receiver.
type HTTPOptions struct {
	URL     string
	Timeout time.Duration // of one attempt; 0: 30 s
	// AllowPrivate lets the effect reach private and loopback addresses. Otherwise a URL that resolves to one fails: whoever
	// may write the settings should not thereby reach what only the function can.
	AllowPrivate bool
	// Signer signs each attempt; nil sends them unsigned.
	Signer *Signer
	// Now is for signatures, and for Retry-After headers that name a time; nil is time.Now.
	Now func() time.Time
}

// defaultTimeout is how long an attempt may take where its spec does not say.
const defaultTimeout = 30 * time.Second

// HTTP returns a handler that POSTs the payload, the same bytes on every attempt, with the headers Idempotency-Key and
// Opledger-Attempt, so that the receiver can refuse a repeat, and signed where there is a Signer. Only an answer of 2xx counts
// as done. 408, 409, 425, 429 and 5xx are tried again, after Retry-After where it is given; any other answer is permanent: the
// receiver has understood and said no. Redirects are not followed, to any host.
//
// The receiver gets it at least once: again, with the same key and the same bytes, where it accepted an attempt whose outcome
// did not reach the ledger.
func HTTP(o HTTPOptions) Handler {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	dialer := &net.Dialer{Timeout: o.Timeout}
	if !o.AllowPrivate {
		dialer.Control = refusePrivate
	}
	client := &http.Client{
		Timeout:   o.Timeout,
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	return HandlerFunc(func(ctx context.Context, task Task) ([]ledger.Write, error) {
		return nil, post(ctx, client, o, task)
	})
}

var errPrivateAddress = errors.New("the effect may not reach private addresses; OPLEDGER_EFFECT_ALLOW_PRIVATE=true allows it")

// refusePrivate runs after the name was resolved, so that no name can stand for a private address.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	host, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("reading the address %q: %w", address, err)
	}
	ip := host.Addr().Unmap()
	inside := func(p netip.Prefix) bool { return p.Contains(ip) }
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || slices.ContainsFunc(alsoPrivate, inside) {
		return Permanent(fmt.Errorf("%s: %w", ip, errPrivateAddress))
	}
	return nil
}

// alsoPrivate is what netip does not count as private and what can be inside all the same: the other ranges that Google Cloud
// takes for a network's own (https://cloud.google.com/vpc/docs/subnets#valid-ranges), "this network", and IPv6 addresses that
// stand for an IPv4 address (compatible, NAT64, 6to4).
var alsoPrivate = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"),
}

func post(ctx context.Context, client *http.Client, o HTTPOptions, task Task) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL, bytes.NewReader(task.Payload))
	if err != nil {
		return Permanent(fmt.Errorf("making the request: %w", withoutURL(err)))
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", task.IdempotencyKey)
	request.Header.Set("Opledger-Attempt", strconv.Itoa(task.Attempt))
	if o.Signer != nil {
		if err := o.Signer.sign(request.Header, task.IdempotencyKey, o.Now(), task.Payload); err != nil {
			return err
		}
	}
	receiver := request.URL.Scheme + "://" + request.URL.Host
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("posting to %s: %w", receiver, withoutURL(err))
	}
	defer response.Body.Close() //nolint:errcheck // the answer has been judged by its status
	said, _ := io.ReadAll(io.LimitReader(response.Body, 300))
	if response.StatusCode/100 == 2 {
		return nil
	}
	err = fmt.Errorf("%s answered %s", receiver, response.Status)
	if len(said) > 0 {
		err = fmt.Errorf("%w: %q", err, said)
	}
	switch code := response.StatusCode; {
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusConflict,
		code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		return RetryAfter(err, parseRetryAfter(response.Header.Get("Retry-After"), o.Now))
	default:
		return Permanent(err)
	}
}

// withoutURL cuts the URL out of an error: its path and its query often hold what authenticates the sender, and errors end in
// documents and logs.
func withoutURL(err error) error {
	var with *url.Error
	if errors.As(err, &with) {
		return with.Err
	}
	return err
}

// maxRetryAfter keeps a receiver's mistake from putting an effect off for ever.
const maxRetryAfter = time.Hour

// parseRetryAfter reads seconds or a date; anything else is no wish at all.
func parseRetryAfter(header string, now func() time.Time) time.Duration {
	var wish time.Duration
	if seconds, err := strconv.Atoi(header); err == nil {
		wish = time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wish = at.Sub(now())
	}
	return min(max(wish, 0), maxRetryAfter)
}
