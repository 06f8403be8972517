package http

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"syscall"

	"github.com/opledger/opledger/shared/effect"
)

// ErrPrivateAddress is the error for a receiver at a private address where Options.AllowPrivate
// is not set.
var ErrPrivateAddress = errors.New("the effect may not reach private addresses")

// ErrNoHost is wrapped by the error of Do.Unperformable for a receiver whose host has no address.
var ErrNoHost = errors.New("is not found")

// refusePrivate runs at each dial, on the address that the name was resolved to. So no name can
// hide a private address, and none can be resolved to another one afterwards.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	host, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("reading the address %q: %w", address, err)
	}
	if ip := host.Addr().Unmap(); !public(ip) {
		return effect.Permanent(fmt.Errorf("%s: %w", ip, ErrPrivateAddress))
	}
	return nil
}

// checkReceiver returns why nothing can be sent to a URL: its host does not exist, or all of its
// addresses are private and may not be reached. A resolver that does not answer proves nothing
// about the host.
func checkReceiver(ctx context.Context, text string, allowPrivate bool) error {
	u, err := url.Parse(text)
	if err != nil {
		return nil // Check has refused it
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	var failed *net.DNSError
	switch {
	case errors.As(err, &failed) && failed.IsNotFound:
		return fmt.Errorf("the host %s %w", u.Hostname(), ErrNoHost)
	case err != nil, allowPrivate, slices.ContainsFunc(addresses, func(ip netip.Addr) bool { return public(ip.Unmap()) }):
		return nil
	default:
		return fmt.Errorf("%s://%s is at %s: %w", u.Scheme, u.Host, addresses[0].Unmap(), ErrPrivateAddress)
	}
}

// public reports whether an address is on the public Internet. Not public is all that IANA's
// registries of special-purpose addresses list, also what they call "globally reachable": no
// receiver is there, and some of it can be routed inside of a network. The registries are
// https://www.iana.org/assignments/iana-ipv4-special-registry and
// https://www.iana.org/assignments/iana-ipv6-special-registry.
func public(ip netip.Addr) bool {
	if ip.Is4() {
		return !within(ip, specialIPv4)
	}
	return globalIPv6.Contains(ip) && !within(ip, specialIPv6)
}

func within(ip netip.Addr, ranges []netip.Prefix) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(ip) })
}

var specialIPv4 = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("10.0.0.0/8"),      // private
	netip.MustParsePrefix("100.64.0.0/10"),   // shared by a carrier's customers; private on Google Cloud
	netip.MustParsePrefix("127.0.0.0/8"),     // loopback
	netip.MustParsePrefix("169.254.0.0/16"),  // link-local: metadata servers
	netip.MustParsePrefix("172.16.0.0/12"),   // private
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.31.196.0/24"), // AS112
	netip.MustParsePrefix("192.52.193.0/24"), // AMT
	netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays, deprecated; private on Google Cloud
	netip.MustParsePrefix("192.168.0.0/16"),  // private
	netip.MustParsePrefix("192.175.48.0/24"), // AS112
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarking
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("224.0.0.0/4"),     // multicast
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
}

// globalIPv6 is the part of IPv6 that is assigned as global unicast. Outside of it are loopback,
// private, link-local, site-local and multicast addresses, discard and segment-routing prefixes,
// and most of the forms of an IPv4 address: compatible, translated and NAT64 ones. An address with
// a zone is outside, too.
var globalIPv6 = netip.MustParsePrefix("2000::/3")

// specialIPv6 are the special-purpose blocks within globalIPv6.
var specialIPv6 = []netip.Prefix{
	netip.MustParsePrefix("2001::/23"),         // protocol assignments: Teredo, benchmarking, ORCHID
	netip.MustParsePrefix("2001:db8::/32"),     // documentation
	netip.MustParsePrefix("2002::/16"),         // 6to4, which stands for an IPv4 address
	netip.MustParsePrefix("2620:4f:8000::/48"), // AS112
	netip.MustParsePrefix("3fff::/20"),         // documentation
}
