package diag_test

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/diag"
)

// FuzzText: a value is removed, as it is and encoded, whatever is around it.
func FuzzText(f *testing.F) {
	const secret = "Zx9/w+Yq2-Lm4_Pt7~Rv"
	r := &diag.Redactor{}
	r.Add("secret", secret)
	f.Add("no route for /", "?")
	f.Add(`{"a":"\u00`, `\`)
	f.Add("%2", "%")
	f.Add("&#x2f;QUJD", "&amp")
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, said := range []string{secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret))} {
			if got := r.Text(before + said + after); strings.Contains(got, said) {
				t.Errorf("%q of %q", got, before+said+after)
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	r := &diag.Redactor{}
	r.Add("secret", "Zx9/w+Yq2-Lm4_Pt7~Rv")
	text := strings.Repeat("<p>Application error: an error occurred. base64Base64==</p>\n", 140)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		r.Text(text)
	}
}
