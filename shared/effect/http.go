package effect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/ledger"
)

var httpKind = kind{name: "http", new: func() Action { return &DoHTTP{} }}

// DoHTTP posts the payload to a URL.
type DoHTTP struct {
	// URL is where to post to, unless Secrets has it.
	URL string
	// Secrets are what of the request stands elsewhere.
	Secrets Secrets
	// Permanent are statuses, 400 to 599, that end the effect at once beside those that [HTTP] lists.
	Permanent []int
}

func (d *DoHTTP) fields() []field {
	return append(d.Secrets.fields(), field{"url", text(&d.URL)}, field{"permanent", numbers(&d.Permanent)})
}

func (d *DoHTTP) check(_ Spec, wrong report) {
	switch {
	case d.Secrets.URL != (Source{}) && d.URL != "":
		wrong("urlSecret", "url and urlSecret are both given; remove one of them")
	case d.Secrets.URL != (Source{}):
	case d.URL == "":
		wrong("url", "http needs a url: the http or https URL to post to; or a urlSecret, the name of a secret that holds it")
	case !isURL(d.URL):
		wrong("url", "url must be an http or https URL") // not quoted: it may hold a password
	}
	d.Secrets.check(wrong)
	for _, status := range d.Permanent {
		if status < 400 || status > 599 {
			wrong("permanent", "permanent must be statuses from 400 to 599, such as [404], not %d", status)
		}
	}
}

// isURL reports whether something can be posted to text.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

func (d *DoHTTP) handler(s Spec, o HandlerOptions) (Handler, error) {
	return HTTP(HTTPOptions{
		URL: d.URL, Secrets: d.Secrets, Read: o.Read, Timeout: s.Timeout, Permanent: d.Permanent,
		AllowPrivate: o.AllowPrivate, Signer: o.Signer, Now: o.Now,
	}), nil
}

func (d *DoHTTP) unperformable(ctx context.Context, o HandlerOptions) error {
	to, err := d.Secrets.read(ctx, d.URL, o.Read)
	if err == nil {
		err = checkReceiver(ctx, to.url, o.AllowPrivate)
	}
	if o.Signer != nil {
		_, unsigned := o.Signer.loaded(ctx, o.Now())
		err = errors.Join(unsigned, err)
	}
	return err
}

// HTTPOptions say how HTTP reaches its receiver.
type HTTPOptions struct {
	// URL is where to post to, unless Secrets has it.
	URL string
	// Secrets are read with Read at the first attempt, and then kept. Until they could be read each
	// attempt fails and is retried; they are read at most once in 10 s.
	Secrets Secrets
	Read    func(context.Context, Source) (string, error)
	// Timeout bounds one attempt; 0: 30 s.
	Timeout time.Duration
	// Permanent are statuses, 400 to 599, that end the effect at once, beside those that [HTTP]
	// lists.
	Permanent []int
	// AllowPrivate lets the effect reach private and loopback addresses. Otherwise a URL that
	// resolves to one fails, so that write access to the settings does not give access to the
	// network of the function.
	AllowPrivate bool
	// Signer signs each attempt; nil sends them unsigned.
	Signer *Signer
	// Now is for signatures, and for Retry-After headers that hold a time; nil is time.Now.
	Now func() time.Time
}

// defaultTimeout bounds an attempt whose spec has no timeout.
const defaultTimeout = 30 * time.Second

// maxHeaderBytes bounds the headers of an answer: many effects run in one process.
const maxHeaderBytes = 64 << 10

// HTTP returns a handler that POSTs the payload, the same bytes on every attempt. The headers
// Idempotency-Key and Opledger-Attempt let the receiver refuse a repeat. Where there is a Signer
// the request is signed.
//
// Only an answer of 2xx is success. An answer is permanent if the same request can only be refused
// again: 3xx, which is never followed, 400, 405, 406, 410, 411, 413, 414, 415, 422, 431, 501, and
// what Permanent adds. Everything else is retried, after Retry-After where it is given. That
// includes 401, 403 and 404, which a receiver may answer during a deployment of its own, and no
// answer.
//
// The receiver gets the request at least once. It gets it again, with the same key and the same
// bytes, if it accepted an attempt whose outcome did not reach the ledger.
func HTTP(o HTTPOptions) Handler {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	if o.Now == nil {
		o.Now = time.Now
	}
	dialer := &net.Dialer{Timeout: o.Timeout}
	if !o.AllowPrivate {
		dialer.Control = refusePrivate
	}
	client := &http.Client{
		Timeout: o.Timeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
			MaxResponseHeaderBytes: maxHeaderBytes,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	targets := &late[target]{load: func(ctx context.Context) (target, error) { return o.Secrets.read(ctx, o.URL, o.Read) }}
	return HandlerFunc(func(ctx context.Context, task Task) ([]ledger.Write, error) {
		to, err := targets.get(ctx, o.Now())
		if err != nil {
			return nil, err
		}
		return nil, post(ctx, client, to, o, task)
	})
}

func post(ctx context.Context, client *http.Client, to target, o HTTPOptions, task Task) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(task.Payload))
	if err != nil {
		return Permanent(errors.New("making the request: the effect's url is malformed")) // err quotes parts of it
	}
	for name, value := range to.header {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", task.IdempotencyKey)
	request.Header.Set("Opledger-Attempt", strconv.Itoa(task.Attempt))
	if o.Signer != nil {
		if err := o.Signer.sign(ctx, request.Header, task.IdempotencyKey, o.Now(), task.Payload); err != nil {
			return err
		}
	}
	receiver := request.URL.Scheme + "://" + request.URL.Host
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("posting to %s: %w", receiver, carriedBy(request).Error(withoutURL(err)))
	}
	defer response.Body.Close() //nolint:errcheck // only the status counts
	quote, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes))
	if response.StatusCode/100 == 2 {
		return nil
	}
	err = fmt.Errorf("%s answered %s", receiver, statusText(response.StatusCode))
	if len(quote) > 0 {
		err = fmt.Errorf("%w: %s", err, carriedBy(request).Quote(string(quote), maxQuotedBytes))
	}
	err = Answered(err, response.StatusCode)
	if permanent(response.StatusCode, o.Permanent) {
		return Permanent(err)
	}
	return RetryAfter(err, api.ParseRetryAfter(response.Header.Get("Retry-After"), o.Now(), maxRetryAfter))
}

// carriedBy returns what removes the secrets of a request from a text. The path and the query of
// its URL often hold a token, and a receiver may repeat them, or a header.
func carriedBy(request *http.Request) *diag.Redactor {
	r := &diag.Redactor{}
	r.AddRequest(request)
	return r
}

// withoutURL removes the URL from an error. Its path and query often authenticate the sender, and
// errors are stored and logged.
func withoutURL(err error) error {
	var with *url.Error
	if errors.As(err, &with) {
		return with.Err
	}
	return err
}
