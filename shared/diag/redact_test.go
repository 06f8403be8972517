package diag_test

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/diag"
)

const (
	pathToken = "tok/Ab+9~ü%C3"
	signature = "v1,Ji0fMZWrXihCWK0BcPBgtjRuughdnVgxaqEe7gDrUN8="
)

// request is a request with a secret in every part.
func request(t *testing.T) *http.Request {
	t.Helper()
	u := &url.URL{
		Scheme: "https", Host: "example.com", User: url.UserPassword("alice-of-ops", `hunter2"<&`),
		Path: "/hooks/" + pathToken + "/T0AB", RawQuery: "sig=" + url.QueryEscape("s3cr3t value/+=") + "&lone-token&n=1",
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.String(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer abcd-EFGH")
	r.Header.Set("Webhook-Signature", signature)
	r.Header.Set("Idempotency-Key", "gemini:batches/a#publish")
	r.Header.Set("Opledger-Attempt", "3")
	return r
}

// secrets are what a text about the request must not hold, in any encoding.
func secrets() map[string]string {
	return map[string]string{
		"path": "/hooks/" + pathToken + "/T0AB", "a segment": "T0AB", "a part of the path": pathToken,
		"query value": "s3cr3t value/+=",
		"query":       "sig=s3cr3t+value%2F%2B%3D&lone-token", "lone parameter": "lone-token", "user": "alice-of-ops",
		"password": `hunter2"<&`,
		"Basic":    base64.StdEncoding.EncodeToString([]byte(`alice-of-ops:hunter2"<&`)), "Bearer": "Bearer abcd-EFGH",
		"credential": "abcd-EFGH",
		"signature":  signature, "bare signature": strings.TrimPrefix(signature, "v1,"), "key": "gemini:batches/a#publish",
	}
}

// encodings are the ways in which a receiver may repeat a value.
func encodings() map[string]func(string) string {
	quoted := func(text string) string {
		out, _ := json.Marshal(text) //nolint:errchkjson // a string
		return strings.Trim(string(out), `"`)
	}
	everyByte := func(format string) func(string) string {
		return func(text string) string {
			var out strings.Builder
			for _, b := range []byte(text) {
				fmt.Fprintf(&out, format, b)
			}
			return out.String()
		}
	}
	everyRune := func(format string) func(string) string {
		return func(text string) string {
			var out strings.Builder
			for _, r := range text {
				fmt.Fprintf(&out, format, r)
			}
			return out.String()
		}
	}
	ofASCII := func(change func(rune) rune) func(string) string {
		return func(text string) string {
			return strings.Map(func(r rune) rune {
				if r >= utf8.RuneSelf {
					return r
				}
				return change(r)
			}, text)
		}
	}
	return map[string]func(string) string{
		"as it is":   func(text string) string { return text },
		"upper case": ofASCII(unicode.ToUpper), "lower case": ofASCII(unicode.ToLower),
		"path": url.PathEscape, "query": url.QueryEscape,
		"twice":     func(text string) string { return url.QueryEscape(url.QueryEscape(text)) },
		"all of it": everyByte("%%%02x"), "JSON": quoted,
		"JSON within JSON":    func(text string) string { return quoted(quoted(text)) },
		"JSON with slashes":   func(text string) string { return strings.ReplaceAll(quoted(text), "/", `\/`) },
		"Go":                  func(text string) string { return strings.Trim(fmt.Sprintf("%+q", text), `"`) },
		"hexadecimal escapes": everyByte(`\x%02X`),
		"HTML":                html.EscapeString, "HTML by number": everyRune("&#x%x;"),
		"HTML by decimal number": everyRune("&#%d;"),
		"base64":                 func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
		"base64 for URLs":        func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) },
		"base64 of more": func(text string) string {
			return base64.StdEncoding.EncodeToString([]byte("x " + text + " y"))
		},
		"base64 in a URL": func(text string) string {
			return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(text)))
		},
		"base64 of JSON": func(text string) string { return base64.StdEncoding.EncodeToString([]byte(quoted(text))) },
		"base64 behind letters": func(text string) string {
			return "v1" + base64.StdEncoding.EncodeToString([]byte(text))
		},
		"hexadecimal": func(text string) string { return hex.EncodeToString([]byte(text)) },
	}
}

// TestText: everything that a request carried is removed from a text that repeats it, however it is
// encoded and whatever is around it. The rest of the text stays.
func TestText(t *testing.T) {
	t.Parallel()
	r := &diag.Redactor{}
	r.AddRequest(request(t))
	for what, secret := range secrets() {
		for how, encode := range encodings() {
			said := encode(secret)
			for _, around := range [][2]string{{"no route for ", ", sorry"}, {`{"error":"`, `"}`}, {"", ""}, {"<p>", "</p>"},
				{"got '", "'"}} {
				text := around[0] + said + around[1]
				got := r.Text(text)
				left := strings.TrimSuffix(strings.TrimPrefix(got, around[0]), around[1])
				for _, piece := range []string{said, secret} {
					if strings.Contains(left, piece) {
						t.Errorf("%s, %s: %q of %q", what, how, got, text)
					}
				}
				if !strings.HasPrefix(got, around[0]) || !strings.HasSuffix(got, around[1]) || !strings.Contains(left, "[") {
					t.Errorf("%s, %s: %q of %q: the rest does not stay", what, how, got, text)
				}
				if runs := longestRun(left, said); runs >= 8 {
					t.Errorf("%s, %s: %q of %q: %d bytes in a row are left", what, how, got, text, runs)
				}
			}
		}
	}
}

// longestRun returns the length of the longest run of bytes that both texts have.
func longestRun(a, b string) int {
	longest := 0
	for i := range a {
		for longest < len(a)-i && strings.Contains(b, a[i:i+longest+1]) {
			longest++
		}
	}
	return longest
}

// TestTextStays: a receiver's own words stay as they are. A placeholder names what was removed.
func TestTextStays(t *testing.T) {
	t.Parallel()
	r := &diag.Redactor{}
	r.AddRequest(request(t))
	for text, want := range map[string]string{
		"":                                       "",
		"the database is away, try 3 times, n=1": "the database is away, try 3 times, n=1",
		"a webhooks endpoint":                    "a webhooks endpoint",
		"Fehler: ungültig \xff 100% &c; \\u12":   "Fehler: ungültig \xff 100% &c; \\u12",
		"key gemini:batches/a#publish is known":  "key [Idempotency-Key] is known",
		"bad signature " + signature:             "bad signature [Webhook-Signature]",
		"half of one: Ji0fMZWrXihCWK0BcPBg":      "half of one: [Webhook-Signature]",
		"no such hook: T0AB":                     "no such hook: [path]",
		"unknown token lone-token.":              "unknown token [query].",
		"alice-of-ops may not":                   "[user] may not",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSignatureAsBytes: a signature is also removed where a receiver repeats it in another encoding
// than it was sent in.
func TestSignatureAsBytes(t *testing.T) {
	t.Parallel()
	r := &diag.Redactor{}
	r.AddRequest(request(t))
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1,"))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Text(fmt.Sprintf("got %x", sum)); got != "got [Webhook-Signature]" {
		t.Error(got)
	}
}

// TestCredentials: what looks like a credential is removed, wherever it came from.
func TestCredentials(t *testing.T) {
	t.Parallel()
	var r diag.Redactor
	for _, text := range []string{
		"ya29.a0AfH6SMBx_1234567", "AIzaSyA1234567890abcdefghijklmnopqrstuv", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
		"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "Bearer abcdefghijklmnopqrstuvwxyz", "?upload_id=ABg5-UxyZ",
		"&access_token=abc",
	} {
		if got := r.Text("with " + text + " in it"); got != "with [credential] in it" {
			t.Errorf("%s: %s", text, got)
		}
	}
	const harmless = "a Bearer token is missing; see https://example.com/errors?id=7"
	if got := r.Text(harmless); got != harmless {
		t.Error(got)
	}
}

// TestError: an error's text is redacted, and what it wraps is still found.
func TestError(t *testing.T) {
	t.Parallel()
	r := &diag.Redactor{}
	r.Add("API key", "hunter2-hunter2")
	err := r.Error(fmt.Errorf("asking with hunter2-hunter2: %w", context.Canceled))
	if err.Error() != "asking with [API key]: context canceled" || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := r.Error(context.Canceled); err != context.Canceled { //nolint:errorlint // the same
		t.Error(err)
	}
	if r.Error(nil) != nil {
		t.Error("an error of nothing")
	}
}

// TestWithoutURL: neither half of a URL that authenticates its sender is in an error.
func TestWithoutURL(t *testing.T) {
	t.Parallel()
	cause := errors.New("no route")
	for _, err := range []error{&url.Error{Op: "Post", URL: "https://host/token", Err: cause}, cause} {
		if got := diag.WithoutURL(err); !errors.Is(got, cause) || strings.Contains(got.Error(), "token") {
			t.Errorf("%v becomes %v", err, got)
		}
	}
}
