package register

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// checkCollection refuses a name that fits no collection. K2 keeps such a name whole, so that what a delivery brings
// under it is not lost; but to register one promises what nothing can keep: reconcile cannot look it up, and the
// completion of the operation that was meant comes under its right name, so that a mistyped collection would show as
// an operation that stays pending [L2, R2]. The submitter is there to read the error. Package submit does not come
// this way: what Gemini itself called an operation is recorded as it is.
func checkCollection(name operation.Name) error {
	if name.Key.Collection() != "" {
		return nil
	}
	given := name.Resource
	if u, err := url.Parse(given); err == nil && u.Host != "" {
		given = strings.Trim(u.Path, "/") // the rest of a URL may hold an API key or a password
	}
	known := operation.Collections()
	segments := strings.Split(given, "/")
	n := len(segments)
	if n == 1 {
		return fmt.Errorf("%s does not say what it is; write batches/%[2]s, operations/%[2]s or interactions/%[2]s",
			diag.Quote(given), segments[0])
	}
	for _, segment := range segments[:n-2] {
		if collection, ok := operation.ParseCollection(segment); ok {
			return fmt.Errorf("%s has more than an id behind %s; an id has no slash, as in %[2]s/abc123", diag.Quote(given),
				collection)
		}
	}
	if meant, ok := diag.Nearest(segments[n-2], known); ok {
		segments[n-2] = string(meant)
		return fmt.Errorf("%s is in no collection that there is; did you mean %s?", diag.Quote(given),
			strings.Join(segments, "/"))
	}
	return fmt.Errorf("%s is in no collection that there is; the collections are %v, as in batches/abc123",
		diag.Quote(given), known)
}
