package diag

// margin is how far behind the limit a text is searched: what is farther is not worth the time.
const margin = 8 << 10

// slashes matches the two slashes of a URL, also as JSON may escape them.
const slashes = `:(?:\\*/){2}`

// urls matches a URL in a text: its scheme, its userinfo, its host, and what is behind the host.
// What ends a sentence does not belong to it.
var urls = Pattern(`((?i:https?|wss?)` + slashes + `)` + `([^\s/?#"'<>@]*@)?` + `([^\s/?#"'<>@\\]+)` +
	`([/?#\\](?:[^\s"'<>]*[^\s"'<>.,:;)])?)?`)

// userinfos matches the beginning of a URL with userinfo, of any scheme, such as a database's.
var userinfos = Pattern(`((?i:[a-z][a-z0-9+.-]*)` + slashes + `)[^\s/"'<>]*@`)

// Failure returns the beginning of the text of a failure from outside, in at most limit bytes: of
// each URL without the userinfo, of HTTP and WebSocket also without the path and the query, and
// without what looks like a credential. It is for texts of handlers, which may hold what a client
// said of its request. Nothing is known of that, so all of these are removed, secret or not.
func Failure(text string, limit int) string {
	text = urls().ReplaceAllStringFunc(text[:min(len(text), limit+margin)], func(url string) string {
		parts := urls().FindStringSubmatch(url)
		if len(parts[4]) <= 1 {
			return parts[1] + parts[3] + parts[4]
		}
		return parts[1] + parts[3] + "/[path]"
	})
	return (&Redactor{}).Cut(userinfos().ReplaceAllString(text, "$1"), limit)
}
