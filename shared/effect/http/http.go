// Package http is the kind of effect that posts to a URL.
package http

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
	"text/template"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/ledger"
)

// Do posts the payload to a URL.
type Do struct {
	// URL is where to post to, unless Secrets has it.
	URL string
	// Secrets are what of the request stands elsewhere.
	Secrets Secrets
	// Body is a template of what is posted in place of the payload; empty: the payload is.
	Body string
	// Permanent are statuses, 400 to 599, that end the effect at once beside those that [New] lists.
	Permanent []int
}

// Fields implements [spec.Action].
func (d *Do) Fields() []spec.Field {
	return append(d.Secrets.fields(), spec.Text("url", &d.URL), spec.Text("body", &d.Body),
		spec.Numbers("permanent", &d.Permanent))
}

// Check implements [spec.Action].
func (d *Do) Check(_ spec.Spec, wrong spec.Report) {
	switch {
	case d.Secrets.URL != (spec.Source{}) && d.URL != "":
		wrong("urlSecret", "url and urlSecret are both given; remove one of them")
	case d.Secrets.URL != (spec.Source{}):
	case d.URL == "":
		wrong("url", "http needs a url: the http or https URL to post to; or a urlSecret, the name of a secret that holds it")
	case !isURL(d.URL):
		wrong("url", "url must be an http or https URL") // not quoted: it may hold a password
	}
	if _, err := parseBody(d.Body); d.Body != "" && err != nil {
		wrong("body", "body: %v", err)
	}
	d.Secrets.check(wrong)
	for _, status := range d.Permanent {
		if status < 400 || status > 599 {
			wrong("permanent", "permanent must be statuses from 400 to 599, such as [404], not %d", status)
		}
	}
}

// Sources implements [spec.Action].
func (d *Do) Sources() []spec.Source { return d.Secrets.All() }

// Warning implements [spec.Action]: the url seems to hold a secret. It may be none.
func (d *Do) Warning() error {
	if spec.Masked(d.URL) == d.URL {
		return nil
	}
	return errors.New("its url seems to hold a secret, which all functions are given, and which stands in the " +
		"deployment's state; store the URL in Secret Manager, and name the secret in urlSecret")
}

// Receiver returns the host of the URL, with its port; empty where a secret holds the URL.
func (d *Do) Receiver() string {
	u, err := url.Parse(d.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// isURL reports whether something can be posted to text.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

// Handler returns what performs the effect, with the clients and limits of o.
func (d *Do) Handler(s spec.Spec, o Options) (effect.Handler, error) {
	o.URL, o.Secrets, o.Timeout, o.Permanent = d.URL, d.Secrets, s.Timeout, d.Permanent
	if d.Body != "" {
		var err error
		if o.Body, err = parseBody(d.Body); err != nil {
			return nil, err
		}
	}
	return New(o), nil
}

// Unperformable returns why no attempt can succeed now: the receiver's address, a secret or the Signer.
func (d *Do) Unperformable(ctx context.Context, o Options) error {
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

// Options say how New reaches its receiver.
type Options struct {
	// URL is where to post to, unless Secrets has it.
	URL string
	// Secrets are read with Read at the first attempt, and then kept. Until they could be read each
	// attempt fails and is retried; they are read at most once in 10 s.
	Secrets Secrets
	Read    func(context.Context, spec.Source) (string, error)
	// Body makes what is posted of the payload; nil: the payload is posted.
	Body *template.Template
	// Timeout bounds one attempt; 0: [spec.DefaultTimeout].
	Timeout time.Duration
	// Permanent are statuses, 400 to 599, that end the effect at once, beside those that [New]
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

// maxHeaderBytes bounds the headers of an answer: many effects run in one process.
const maxHeaderBytes = 64 << 10

// New returns a handler that POSTs the payload, or what Body makes of it, the same bytes on every attempt. The headers
// Idempotency-Key and Opledger-Attempt let the receiver refuse a repeat, and Traceparent continues the trace in which
// the operation was submitted, if it was in one. Where there is a Signer
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
func New(o Options) effect.Handler {
	o.Timeout = cmp.Or(o.Timeout, spec.DefaultTimeout)
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
	return effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		to, err := targets.get(ctx, o.Now())
		if err != nil {
			return nil, err
		}
		return nil, post(ctx, client, to, o, task)
	})
}

func post(ctx context.Context, client *http.Client, to target, o Options, task effect.Task) error {
	content, err := o.content(task, to)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url, bytes.NewReader(content))
	if err != nil {
		return effect.Permanent(errors.New("making the request: the effect's url is malformed")) // err quotes parts of it
	}
	for name, value := range to.header {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", task.IdempotencyKey)
	request.Header.Set("Opledger-Attempt", strconv.Itoa(task.Attempt))
	if trace := task.TraceParent(); trace != "" {
		request.Header.Set("Traceparent", string(trace))
	}
	if o.Signer != nil {
		if err := o.Signer.sign(ctx, request.Header, task.IdempotencyKey, o.Now(), content); err != nil {
			return err
		}
	}
	receiver := request.URL.Scheme + "://" + request.URL.Host
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("posting to %s: %w", receiver, carriedBy(request).Error(diag.WithoutURL(err)))
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
	err = effect.Answered(err, response.StatusCode)
	if permanent(response.StatusCode, o.Permanent) {
		return effect.Permanent(err)
	}
	return effect.RetryAfter(err, api.ParseRetryAfter(response.Header.Get("Retry-After"), o.Now(), effect.MaxRetryAfter))
}

// carriedBy returns what removes the secrets of a request from a text. The path and the query of
// its URL often hold a token, and a receiver may repeat them, or a header.
func carriedBy(request *http.Request) *diag.Redactor {
	r := &diag.Redactor{}
	r.AddRequest(request)
	return r
}
