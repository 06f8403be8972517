package http

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect/spec"
)

// Secrets are the parts of a request that the settings name, and that stand elsewhere: the settings
// alone do not let their reader send anything.
type Secrets struct {
	// URL is the whole URL. Token is sent as "Authorization: Bearer TOKEN".
	URL, Token spec.Source
	// Headers are whole values, by the canonical name of their header.
	Headers map[string]spec.Source
}

// All returns every source once, in the order of their texts.
func (s Secrets) All() []spec.Source {
	all := slices.DeleteFunc(append(slices.Collect(maps.Values(s.Headers)), s.URL, s.Token),
		func(one spec.Source) bool { return one == spec.Source{} })
	slices.SortFunc(all, func(a, b spec.Source) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

func (s *Secrets) fields() []spec.Field {
	return []spec.Field{
		{Name: "urlSecret", Read: secretName(&s.URL)}, {Name: "tokenSecret", Read: secretName(&s.Token)},
		{Name: "headerSecrets", Read: headers(&s.Headers)},
	}
}

// secretName reads the name of a secret.
func secretName(into *spec.Source) func(ast.Node) error {
	return func(value ast.Node) error {
		var written string
		err := spec.Text("", &written).Read(value)
		if err == nil {
			*into, err = spec.ParseSource(written)
		}
		if err != nil {
			*into = spec.Source{Variable: "unread"} // it is given, so that nothing else is asked for in its place
			return fmt.Errorf("names no secret: %w", err)
		}
		return nil
	}
}

// headers reads a mapping from headers to the names of secrets.
func headers(into *map[string]spec.Source) func(ast.Node) error {
	return func(value ast.Node) error {
		mapping, ok := value.(ast.MapNode)
		if !ok {
			return errors.New("must be a mapping such as {X-Api-Key: projects/my-project/secrets/my-key}")
		}
		read := map[string]spec.Source{}
		for pairs := mapping.MapRange(); pairs.Next(); {
			name := http.CanonicalHeaderKey(pairs.Key().GetToken().Value)
			if _, twice := read[name]; twice {
				return fmt.Errorf("has the header %s twice", diag.Quote(name))
			}
			var one spec.Source
			if err := secretName(&one)(pairs.Value()); err != nil {
				return fmt.Errorf("has a header %s that %w", diag.Quote(name), err)
			}
			read[name] = one
		}
		*into = read
		return nil
	}
}

var headerName = diag.Pattern("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// ownHeaders are those that the handler or the connection sets.
var ownHeaders = []string{
	"Content-Type", "Content-Length", "Connection", "Host", "Idempotency-Key", "Opledger-Attempt", "Te", "Traceparent",
	"Trailer", "Transfer-Encoding", "Upgrade", http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookID),
	http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookSignature),
	http.CanonicalHeaderKey(standardwebhooks.HeaderWebhookTimestamp),
}

const authorization = "Authorization"

func (s *Secrets) check(wrong spec.Report) {
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		switch {
		case !headerName().MatchString(name):
			wrong("headerSecrets", "headerSecrets: %s is not a valid header name", diag.Quote(name))
		case slices.Contains(ownHeaders, name):
			wrong("headerSecrets", "headerSecrets: the header %s is set by opledger itself; use another name", name)
		case name == authorization && s.Token != spec.Source{}:
			wrong("headerSecrets", "tokenSecret is sent as Authorization, which headerSecrets has too; remove one of them")
		}
	}
}

// A target is where a request goes, and what it carries beside the payload.
type target struct {
	url    string
	header map[string]string
}

// read returns the target of requests to url or, where that is a secret, to what is read. No error
// holds what was read.
func (s *Secrets) read(
	ctx context.Context, url string, read func(context.Context, spec.Source) (string, error),
) (target, error) {
	to := target{url: url, header: map[string]string{}}
	get := func(field string, from spec.Source) (string, error) {
		if read == nil {
			return "", fmt.Errorf("%s: nothing reads %s", field, from)
		}
		value, err := read(ctx, from)
		if err != nil {
			return "", fmt.Errorf("%s: %w", field, err)
		}
		if value = strings.TrimSpace(value); value == "" || strings.ContainsFunc(value, notInHeader) {
			return "", fmt.Errorf("%s: what %s holds must be one line of printable ASCII", field, from)
		}
		return value, nil
	}
	var err error
	if s.URL != (spec.Source{}) {
		if to.url, err = get("urlSecret", s.URL); err != nil {
			return target{}, err
		}
		if !isURL(to.url) {
			return target{}, fmt.Errorf("urlSecret: what %s holds is no http or https URL", s.URL)
		}
	}
	if s.Token != (spec.Source{}) {
		token, err := get("tokenSecret", s.Token)
		if err != nil {
			return target{}, err
		}
		to.header[authorization] = "Bearer " + token
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if to.header[name], err = get("headerSecrets: "+name, s.Headers[name]); err != nil {
			return target{}, err
		}
	}
	return to, nil
}

func notInHeader(r rune) bool { return r < ' ' || r > '~' }
