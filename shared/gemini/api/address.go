package api

import (
	"cmp"
	"errors"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

const (
	// baseURLVariable replaces the base URL, as it does for the SDK.
	baseURLVariable = "GOOGLE_GEMINI_BASE_URL"
	defaultBaseURL  = "https://generativelanguage.googleapis.com"
	version         = "v1beta"
)

// baseURL returns the address to use for the one in the options, which may be empty.
func baseURL(own string) string { return cmp.Or(own, os.Getenv(baseURLVariable), defaultBaseURL) }

// CheckBaseURL returns nil for an address that requests to Gemini may be sent to. The API key goes
// with them, so it must be a [SecureURL]. The error does not repeat the address, which may hold a
// password.
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

// SecureURL reports whether requests to u and their answers can be neither read nor replaced on the
// way: u is https, or http on a host that [NamesLoopback].
func SecureURL(u *url.URL) bool {
	switch u.Scheme {
	case "https":
		return true
	case "http":
		return NamesLoopback(u.Hostname())
	default:
		return false
	}
}

// NamesLoopback reports whether a host, without a port, is this machine's loopback interface, written as
// localhost or as an address.
func NamesLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}
