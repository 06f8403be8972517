package spec

import (
	"regexp"
	"strings"
	"sync"
)

// mask stands for a secret. A URL with it is still one.
const mask = "masked"

// patterns are compiled when the first of them is needed: most functions never need one.
var patterns = sync.OnceValue(func() (p struct{ urls, parts, userinfo, queryValue, queryName *regexp.Regexp }) {
	// A URL in YAML or JSON, in quotes or, up to what can end it there, without.
	p.urls = regexp.MustCompile(
		`(?i)"https?://[^"]*"|'https?://[^']*'|https?://(?:[^\s"'<>,\]}]|,[^\s"'<>,\]}])+`)
	// Its quote, scheme, authority, path, what follows, and its quote.
	p.parts = regexp.MustCompile(`(?is)^(["']?)(https?://)([^/?#"']*)([^?#"']*)(.*?)(["']?)$`)
	p.userinfo = regexp.MustCompile(`^.*@`)
	p.queryValue = regexp.MustCompile(`=[^&#]+`)
	p.queryName = regexp.MustCompile(`([?&])[^=&#]{16,}`)
	return p
})

// maskedBytes is the length from which a segment of a path that has a digit looks like a token.
const maskedBytes = 16

// Masked returns text with what looks like a secret in its URLs replaced: userinfo, the values of a
// query, and segments of a path that are long and have a digit. Terraform does the same
// (infra/masks.tf); both are tested with the same cases.
func Masked(text string) string {
	p := patterns()
	return p.urls.ReplaceAllStringFunc(text, func(url string) string {
		part := p.parts.FindStringSubmatch(url)[1:]
		part[2] = p.userinfo.ReplaceAllString(part[2], mask+"@")
		segments := strings.Split(part[3], "/")
		for i, segment := range segments {
			if len(segment) >= maskedBytes && strings.ContainsAny(segment, "0123456789") {
				segments[i] = mask
			}
		}
		part[3] = strings.Join(segments, "/")
		part[4] = p.queryName.ReplaceAllString(p.queryValue.ReplaceAllString(part[4], "="+mask), "${1}"+mask)
		return strings.Join(part, "")
	})
}
