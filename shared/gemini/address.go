package gemini

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// CheckBaseURL returns nil for an address at which Gemini may be asked. The API key is sent to it, so it must be a
// [SecureURL]. The error does not repeat the address, which may hold a password.
func CheckBaseURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return errors.New("it must be an https URL with a host, such as https://gemini.example")
	}
	if !SecureURL(u) {
		return errors.New("it must be an https URL, because the API key is sent to it; " +
			"plain http is for the loopback interface only")
	}
	return nil
}

// SecureURL reports whether requests to u and their answers are safe from being read or replaced on
// the way: u is https, or http on the loopback interface, written as localhost or as an address.
func SecureURL(u *url.URL) bool {
	switch u.Scheme {
	case "https":
		return true
	case "http":
		ip, err := netip.ParseAddr(u.Hostname())
		return strings.EqualFold(u.Hostname(), "localhost") || err == nil && ip.Unmap().IsLoopback()
	default:
		return false
	}
}
