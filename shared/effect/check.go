package effect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
)

// Unperformable returns why no attempt at the effect of s can succeed as things are; nil where one may.
// It judges what can be known without the receiver, which it never asks [S8]: the address of an http
// effect, the secret that it is signed with, the Google credentials of the others. o is as for Handlers.
// A host that is not resolved before ctx ends is taken for good, a secret that is not read by then is
// not.
func (s Spec) Unperformable(ctx context.Context, o HandlerOptions) error {
	var err error
	switch {
	case s.Do == "http" && o.Signer != nil:
		_, err = o.Signer.loaded(ctx, o.Now())
	case s.Do == "pubsub":
		_, err = o.Topics.connect(ctx)
	case s.Do == "results" && s.Bucket != "":
		_, err = o.Buckets.connect(ctx)
	}
	if s.Do == "http" {
		err = errors.Join(err, checkReceiver(ctx, s.URL, o.AllowPrivate))
	}
	return err
}

// checkReceiver returns why nothing can be sent to a URL: its host is not found, or every address of it
// is private and may not be reached. A resolver that does not answer says nothing about the host.
func checkReceiver(ctx context.Context, text string, allowPrivate bool) error {
	u, err := url.Parse(text)
	if err != nil {
		return nil // ParseSpecs has refused it
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	var failed *net.DNSError
	switch {
	case errors.As(err, &failed) && failed.IsNotFound:
		return fmt.Errorf("the host %s is not found", u.Hostname())
	case err != nil, allowPrivate, slices.ContainsFunc(addresses, func(ip netip.Addr) bool { return public(ip.Unmap()) }):
		return nil
	default:
		return fmt.Errorf("%s://%s is at %s: %w", u.Scheme, u.Host, addresses[0].Unmap(), errPrivateAddress)
	}
}
