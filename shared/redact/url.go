package redact

import "regexp"

// margin is how far behind the limit a text is searched: what is farther is not worth the time.
const margin = 8 << 10

// urls matches a URL in a text: its scheme, its userinfo, its host, and what is behind the host.
// What ends a sentence does not belong to it.
var urls = regexp.MustCompile(`((?i:https?|wss?)://)` + `([^\s/?#"'<>@]*@)?` + `([^\s/?#"'<>@\\]+)` +
	`([/?#\\](?:[^\s"'<>]*[^\s"'<>.,:;)])?)?`)

// Failure returns the beginning of the text of a failure from outside, in at most limit bytes: of
// each URL without the userinfo, the path and the query, and without what looks like a credential.
// It is for texts of handlers, which may hold what a client said of its request. Nothing is known
// of that, so all of these are removed, secret or not.
func Failure(text string, limit int) string {
	text = urls.ReplaceAllStringFunc(text[:min(len(text), limit+margin)], func(url string) string {
		parts := urls.FindStringSubmatch(url)
		if len(parts[4]) <= 1 {
			return parts[1] + parts[3] + parts[4]
		}
		return parts[1] + parts[3] + "/[path]"
	})
	return (&Redactor{}).Cut(text, limit)
}
