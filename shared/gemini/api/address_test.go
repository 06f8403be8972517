package api_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/api"
)

// TestCheckBaseURL: the API key goes over https, or stays on this machine. What is refused is not
// repeated.
func TestCheckBaseURL(t *testing.T) {
	t.Parallel()
	const notURL, clear = "with a host", "plain http"
	for address, says := range map[string]string{
		"https://generativelanguage.googleapis.com/": "",
		"https://proxy.example:8443/gemini":          "",
		"HTTPS://proxy.example":                      "",
		"http://localhost:1":                         "",
		"http://LocalHost":                           "",
		"http://127.0.0.1:8080/":                     "",
		"http://127.9.9.9":                           "",
		"http://[::1]:8080":                          "",
		"http://[::ffff:127.0.0.1]:8080":             "",

		"http://elsewhere":                         clear,
		"http://generativelanguage.googleapis.com": clear,
		"http://127.0.0.1.hunter2.example":         clear,
		"http://localhost.hunter2.example":         clear,
		"http://localhost@hunter2.example":         clear,
		"http://127.0.0.1:hunter2@example.com":     clear,
		"http://10.0.0.1":                          clear,
		"http://0.0.0.0:8080":                      clear,
		"http://[::]":                              clear,
		"http://2130706433":                        clear,
		"":                                         notURL,
		"hunter2":                                  notURL,
		"localhost:8080":                           notURL,
		"//localhost":                              notURL,
		"ftp://localhost":                          notURL,
		"http://:80":                               notURL,
		"https://":                                 notURL,
		"https://%zzhunter2":                       notURL,
	} {
		err := api.CheckBaseURL(address)
		switch {
		case (err == nil) != (says == ""):
			t.Errorf("%q: %v, want %q", address, err, says)
		case err != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter2")):
			t.Errorf("%q: %v, want %q", address, err, says)
		}
	}
}
