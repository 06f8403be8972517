package register

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// parseName reads the name of an operation to register. It refuses one that no look-up could send:
// the record keeps the first name that it was given, so that the operation would stay pending for
// ever [K5]. The submitter can correct it.
func parseName(text string) (operation.Name, error) {
	name, err := operation.ParseName(text, "")
	if err == nil {
		err = checkCollection(name)
	}
	if err == nil {
		_, err = name.Path()
	}
	return name, err //nolint:wrapcheck // it is about the field, which the caller names
}

// checkCollection refuses a name without a collection [L2, R2]. Reconciliation could never look it
// up, and the operation's events have another name, so that it would stay pending for ever. The
// submitter can correct it. Deliveries keep such a name [K2], and package submit records a name
// that Gemini itself gave.
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
		return fmt.Errorf("%s has no collection; write batches/%[2]s, operations/%[2]s or interactions/%[2]s",
			diag.Quote(given), segments[0])
	}
	for _, segment := range segments[:n-2] {
		if collection, ok := operation.ParseCollection(segment); ok {
			return fmt.Errorf("%s has more than an id after %s; an id has no slash, as in %[2]s/abc123", diag.Quote(given),
				collection)
		}
	}
	if meant, ok := diag.Nearest(segments[n-2], known); ok {
		segments[n-2] = string(meant)
		return fmt.Errorf("%s is not in a known collection; did you mean %s?", diag.Quote(given),
			strings.Join(segments, "/"))
	}
	return fmt.Errorf("%s is not in a known collection: %s, as in batches/abc123",
		diag.Quote(given), diag.OneOf(known))
}
