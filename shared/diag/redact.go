package diag

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	// gramBytes in a row count as a repetition of their value.
	gramBytes = 12
	// wordBytes is the length below which a value counts only as a word of its own.
	wordBytes = 8
	// minBytes is the length below which a value is not searched for: it is no secret, and many
	// words may hold it.
	minBytes = 4
)

// A Redactor removes what a request carried from texts about its outcome. An answer may repeat the
// token of its URL or an Authorization header, and errors are logged and stored. A removed value is
// replaced by its name, such as [path] or [Authorization].
//
// A text repeats a value if it holds the whole value, or 12 bytes of it in a row: in any case, and
// also encoded up to three times over: percent-encoded, with JSON's or HTML's escapes, as base64 or
// as hexadecimal digits.
//
// Every Redactor, also the zero one, removes what looks like a credential. Text and Error may be
// called concurrently; the methods that add may not.
type Redactor struct {
	words map[string]string // short values, by what they are replaced with
	grams map[string]string // each gramBytes in a row of the longer ones
}

// Add makes the Redactor replace a value by its name in brackets.
func (r *Redactor) Add(name, value string) {
	if r.words == nil {
		r.words, r.grams = map[string]string{}, map[string]string{}
	}
	r.addForm("["+name+"]", plain(value), 2)
}

// addForm adds a value as it is and, up to depth times, decoded.
func (r *Redactor) addForm(name string, v view, depth int) {
	text := v.folded()
	if len(text) >= minBytes && len(text) < gramBytes {
		r.words[text] = cmp.Or(r.words[text], name)
	}
	for i := 0; i+gramBytes <= len(text); i++ {
		r.grams[text[i:i+gramBytes]] = cmp.Or(r.grams[text[i:i+gramBytes]], name)
	}
	if depth == 0 {
		return
	}
	if inner, changed := v.unescaped(); changed {
		r.addForm(name, inner, depth-1)
	}
	// A signature that was compared as bytes is told in another encoding than it came in.
	if inner := v.unpacked(base64Digit, 6, 0, 16); len(inner.bytes) > 0 {
		r.addForm(name, inner, 0)
	}
}

// AddURL adds the userinfo, the path and the query of a URL, whole and in parts.
func (r *Redactor) AddURL(u *url.URL) {
	if u.User != nil {
		password, _ := u.User.Password()
		both := u.User.Username() + ":" + password
		r.Add("user", u.User.Username())
		r.Add("password", password)
		r.Add("userinfo", both)
		r.Add("userinfo", base64.StdEncoding.EncodeToString([]byte(both))) // as net/http sends it
	}
	r.Add("path", u.EscapedPath())
	for segment := range strings.SplitSeq(u.EscapedPath(), "/") {
		r.Add("path", segment)
	}
	r.Add("query", u.RawQuery)
	for parameter := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		r.Add("query", cmp.Or(value, name)) // a name alone is a value
	}
}

// AddRequest adds the parts of a request's URL and the values of its headers.
func (r *Redactor) AddRequest(request *http.Request) {
	r.AddURL(request.URL)
	for _, name := range slices.Sorted(maps.Keys(request.Header)) {
		for _, value := range request.Header[name] {
			r.Add(name, value)
		}
	}
	if _, credential, ok := strings.Cut(request.Header.Get("Authorization"), " "); ok {
		r.Add("Authorization", credential)
	}
}

// ForAPIKey returns a Redactor for requests with an API key to a base URL, which may hold a password
// or a token. An empty URL is Gemini's own.
func ForAPIKey(key, baseURL string) *Redactor {
	r := &Redactor{}
	r.Add("API key", key)
	if u, err := url.Parse(baseURL); err == nil {
		r.AddURL(&url.URL{User: u.User, RawQuery: u.RawQuery}) // the path behind it names what the error is about
	}
	return r
}

// A span is the part of a text that is replaced, from a byte to the one before another.
type span struct {
	from, to int
	name     string
}

// Text returns text with each repeated value replaced. text must be whole: of a value that was cut
// at its end, fewer than 12 bytes may be left, which are not found.
func (r *Redactor) Text(text string) string {
	var spans []span
	if len(r.words)+len(r.grams) > 0 {
		plain(text).each(3, func(v view) { spans = append(spans, r.match(v)...) })
	}
	for _, at := range credentials().FindAllStringIndex(text, -1) {
		spans = append(spans, span{at[0], at[1], "[credential]"})
	}
	return replaced(text, spans)
}

// match returns where a view repeats a value.
func (r *Redactor) match(v view) []span {
	var spans []span
	add := func(at, length int, name string) {
		spans = append(spans, span{v.from[at], v.to[at+length-1], name})
	}
	text := v.folded()
	for i := 0; i+gramBytes <= len(text); i++ {
		if name, ok := r.grams[text[i:i+gramBytes]]; ok {
			add(i, gramBytes, name)
		}
	}
	for word, name := range r.words {
		for at := 0; ; at++ {
			next := strings.Index(text[at:], word)
			if next < 0 {
				break
			}
			at += next
			end := at + len(word)
			if len(word) >= wordBytes || (at == 0 || !alphanumeric(text[at-1])) &&
				(end == len(text) || !alphanumeric(text[end])) {
				add(at, len(word), name)
			}
		}
	}
	return spans
}

// replaced returns text with each span replaced by its name. Of overlapping spans the first and
// longest gives the name.
func replaced(text string, spans []span) string {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.name, b.name))
	})
	var out strings.Builder
	end := 0 // of what is written, or replaced
	for _, s := range spans {
		if s.from >= end {
			out.WriteString(text[end:s.from])
			out.WriteString(s.name)
		}
		end = max(end, s.to)
	}
	out.WriteString(text[end:])
	return out.String()
}

// credentials matches what looks like a credential: access tokens, API keys, JSON Web Tokens,
// webhooks' secrets, and parameters of URLs.
var credentials = Pattern(`ya29\.[\w-]{10,}` + `|AIza[\w-]{30,}` + `|eyJ[\w-]{8,}\.[\w-]+\.[\w-]*` +
	`|whsec_[A-Za-z0-9+/=_-]{16,}` + `|(?i:bearer)\s+[\w.~+/-]{20,}=*` +
	`|[?&](?i:key|token|access_token|id_token|upload_id|sig|signature|x-goog-signature)=[^&\s"'<>]+`)

// Cut returns the beginning of the redacted text, in at most limit bytes of UTF-8. The order
// matters: of a value that was cut first, the rest would not be found.
func (r *Redactor) Cut(text string, limit int) string {
	return Cut(r.Text(text[:min(len(text), limit+margin)]), limit)
}

// Quote is Cut, quoted for printing within a line.
func (r *Redactor) Quote(text string, limit int) string { return fmt.Sprintf("%q", r.Cut(text, limit)) }

// Error returns err with its text redacted, or nil. errors.Is and errors.As find what it wraps as
// before.
func (r *Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := r.Text(err.Error()); text != err.Error() {
		return redacted{err, text}
	}
	return err
}

type redacted struct {
	error
	text string
}

func (e redacted) Error() string { return e.text }

func (e redacted) Unwrap() error { return e.error }

// WithoutURL removes the URL from an error of net/http. Its path and query often authenticate the
// sender, and errors are stored and logged.
func WithoutURL(err error) error {
	if with, ok := errors.AsType[*url.Error](err); ok {
		return with.Err
	}
	return err
}

// LogIn says, behind an error, what to do about a client of Google Cloud that could not be made: that
// is for want of credentials.
const LogIn = "; run gcloud auth application-default login, or run where Google Cloud gives credentials"
