package gemini_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
)

func TestNewVerifier(t *testing.T) {
	t.Parallel()
	short := "whsec_" + base64.StdEncoding.EncodeToString([]byte("fifteen bytes!!"))
	least := "whsec_" + base64.StdEncoding.EncodeToString([]byte("sixteen bytes!!!"))
	for _, test := range []struct {
		name    string
		secrets []string
		is      error
		says    []string
	}{
		{name: "none", is: gemini.ErrNoSecret},
		{name: "one", secrets: []string{secretA}},
		{name: "16 bytes", secrets: []string{least}},
		{name: "with a line end", secrets: []string{secretA + "\n"}},
		{name: "empty", secrets: []string{""}, is: gemini.ErrSecret, says: []string{"secret 1 of 1 is empty"}},
		{
			name: "blank beside a good one", secrets: []string{secretA, " "}, is: gemini.ErrSecret,
			says: []string{"secret 2 of 2 is empty"},
		},
		{name: "empty key", secrets: []string{"whsec_"}, is: gemini.ErrSecret, says: []string{"key of 0 bytes"}},
		{
			name: "empty key, line ends", secrets: []string{"whsec_\r\n\r\n"}, is: gemini.ErrSecret,
			says: []string{"key of 0 bytes"},
		},
		{name: "short key", secrets: []string{short}, is: gemini.ErrSecret, says: []string{"key of 15 bytes"}},
		{
			name: "no prefix", secrets: []string{secretA[6:]}, is: gemini.ErrSecret,
			says: []string{"does not begin with whsec_"},
		},
		{
			name: "other prefix", secrets: []string{"WHSEC_" + secretA[6:]}, is: gemini.ErrSecret,
			says: []string{"does not begin"},
		},
		{
			name: "not base64", secrets: []string{"whsec_$$$$" + secretA[10:]}, is: gemini.ErrSecret,
			says: []string{"not base64"},
		},
		{
			name: "no padding", secrets: []string{strings.TrimRight(secretA, "=")}, is: gemini.ErrSecret,
			says: []string{"not base64"},
		},
		{
			name: "several problems", secrets: []string{short, secretA, "nonsense"}, is: gemini.ErrSecret,
			says: []string{"secret 1 of 3 has", "secret 3 of 3 does"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v, err := gemini.NewVerifier(test.secrets...)
			if !errors.Is(err, test.is) {
				t.Fatalf("got %v, want %v", err, test.is)
			}
			if (v == nil) != (err != nil) {
				t.Fatalf("verifier %v beside error %v", v, err)
			}
			for _, words := range test.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q does not say %q", err, words)
				}
			}
			for _, secret := range test.secrets {
				if key := strings.TrimPrefix(strings.TrimSpace(secret), "whsec_"); err != nil && len(key) > 4 &&
					strings.Contains(err.Error(), key) {
					t.Errorf("the error repeats the secret: %q", err)
				}
			}
		})
	}
}

func TestVerifierPrintsNoKey(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, secretA, secretB)
	if got, want := fmt.Sprintf("%v|%+v|%#v|%s", v, v, v, v), "gemini.Verifier(2 keys)"; got != strings.Join(
		[]string{want, want, want, want}, "|",
	) {
		t.Errorf("got %s", got)
	}
}
