package http

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/opledger/opledger/shared/effect"
)

// special are the blocks of IANA's registries of special-purpose addresses, IPv4 and then IPv6, as
// of October 2025, and what they leave out: multicast, deprecated site-local addresses, and the
// forms of IPv6 that stand for an IPv4 address.
var special = []string{
	"0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24",
	"192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32", "192.0.0.171/32", "192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
	"198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4", "255.255.255.255/32",
	"::1/128", "::/128", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32",
	"2001:1::1/128",
	"2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28",
	"2001:30::/28",
	"2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10",
	"224.0.0.0/4", "ff00::/8", "fec0::/10", "::/96", "::ffff:0:0:0/96",
}

// last returns the last address of a block.
func last(block netip.Prefix) netip.Addr {
	bytes := block.Masked().Addr().AsSlice()
	for bit := block.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	ip, _ := netip.AddrFromSlice(bytes)
	return ip
}

// TestSpecialAddresses: no address within a special-purpose block is reached, from its first to its
// last, also where an IPv4 address is written as an IPv6 one.
func TestSpecialAddresses(t *testing.T) {
	t.Parallel()
	for _, text := range special {
		block := netip.MustParsePrefix(text)
		for _, ip := range []netip.Addr{block.Addr(), last(block)} {
			forms := []string{ip.String()}
			if ip.Is4() {
				forms = append(forms, "::ffff:"+ip.String())
			} else {
				forms = append(forms, ip.String()+"%eth0")
			}
			for _, form := range forms {
				if err := refusePrivate("tcp", net.JoinHostPort(form, "443"), nil); !effect.IsPermanent(err) {
					t.Errorf("%s of %s: %v, want it refused for good", form, text, err)
				}
			}
		}
	}
}

// TestPublicAddresses: the addresses next to a special-purpose block are public, and are reached.
func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"142.250.1.1", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.1", "191.255.255.255", "192.0.1.0",
		"192.0.3.0",
		"192.88.98.255", "192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"::ffff:8.8.8.8", "2001:200::1", "2001:4860:4860::8888", "2001:db7:ffff::1", "2001:db9::1", "2003::1",
		"2600:1900::1", "2a00:1450::1",
	} {
		if err := refusePrivate("tcp", net.JoinHostPort(address, "443"), nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := refusePrivate("unix", "/var/run/docker.sock", nil); err == nil {
		t.Error("what is no address is not refused")
	}
}

// TestUnknownAddress: what is no address is refused, though another attempt may have one. A text that
// is no URL, and a resolver that does not answer, prove nothing about the receiver.
func TestUnknownAddress(t *testing.T) {
	t.Parallel()
	err := refusePrivate("tcp", "nowhere", nil)
	if err == nil || effect.IsPermanent(err) || errors.Is(err, ErrPrivateAddress) {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, url := range []string{"http://[", "https://receiver.example/"} {
		if err := checkReceiver(over, url, false); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}
