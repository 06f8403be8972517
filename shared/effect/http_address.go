package effect

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

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
