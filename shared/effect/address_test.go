package effect

import (
	"net"
	"testing"
)

// TestRefusePrivate: every address that can be inside is refused; the whole Internet is not. Google Cloud takes more ranges
// for private than RFC 1918 does (https://cloud.google.com/vpc/docs/subnets#valid-ranges), and IPv4 can be inside IPv6.
func TestRefusePrivate(t *testing.T) {
	t.Parallel()
	for address, refused := range map[string]bool{
		"8.8.8.8": false, "142.250.1.1": false, "2001:4860:4860::8888": false, "::ffff:8.8.8.8": false, "100.63.255.255": false,
		"100.128.0.0": false, "172.32.0.1": false, "11.0.0.1": false, "198.17.255.255": false, "198.20.0.0": false,
		"127.0.0.1": true, "127.255.255.254": true, "::1": true, "0.0.0.0": true, "::": true, "0.1.2.3": true,
		"10.255.255.255": true, "172.31.255.255": true, "192.168.0.1": true, "169.254.169.254": true, "fe80::1%eth0": true, "fd00::1": true,
		"100.64.0.0": true, "100.127.255.255": true, "224.0.0.1": true, "ff02::1": true, "255.255.255.255": true,
		"::ffff:127.0.0.1": true, "::ffff:169.254.169.254": true, "::ffff:100.64.0.1": true,
		"192.0.0.1": true, "192.0.2.1": true, "198.51.100.1": true, "203.0.113.1": true, "192.88.99.1": true, "198.18.0.1": true, "198.19.255.255": true,
		"240.0.0.1": true, "64:ff9b::a00:1": true, "64:ff9b:1::a00:1": true, "2002:a00:1::": true, "::10.0.0.1": true,
	} {
		err := refusePrivate("tcp", net.JoinHostPort(address, "80"), nil)
		if (err != nil) != refused || err != nil && !IsPermanent(err) {
			t.Errorf("%s: %v, want refused %t", address, err, refused)
		}
	}
	if err := refusePrivate("unix", "/var/run/docker.sock", nil); err == nil {
		t.Error("what is no address is not refused")
	}
}
