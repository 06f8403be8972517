package gemini

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/diag"
)

// maxPaths bounds what KeyPaths returns.
const maxPaths = 100

// KeyPaths describes a JSON object without its values: the path of each value, with its type, such
// as "data.id text", in alphabetical order; [] stands for the elements of a list. It shows what
// Gemini sends where the documentation does not say. At most 100 paths are returned, none where the
// bytes are no JSON object.
func KeyPaths(text []byte) []string {
	var root map[string]any
	if json.Unmarshal(text, &root) != nil {
		return nil
	}
	seen := map[string]bool{}
	collectPaths(seen, "", root, maxCorrelationDepth)
	paths := slices.Sorted(maps.Keys(seen))
	return paths[:min(len(paths), maxPaths)]
}

func collectPaths(seen map[string]bool, path string, value any, depth int) {
	word := "text"
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			if depth > 0 && len(seen) < 2*maxPaths {
				collectPaths(seen, strings.TrimPrefix(path+"."+key, "."), below, depth-1)
			}
		}
		if len(value) > 0 {
			return
		}
		word = "object"
	case []any:
		for _, below := range value {
			if depth > 0 {
				collectPaths(seen, path+"[]", below, depth-1)
			}
		}
		if len(value) > 0 {
			return
		}
		word = "list"
	case float64:
		word = "number"
	case bool:
		word = "boolean"
	case nil:
		word = "null"
	}
	if path != "" {
		seen[path+" "+word] = true
	}
}

// longID is an id that Gemini issued for a batch.
var longID = diag.Pattern(`^[a-z0-9]{36}$`)

// IDForm describes the name in an event without the name itself: what is before the id, and the
// form of the id, which is ID36 for 36 lower-case letters and digits, v1_ID, or ID.
func IDForm(name string) string {
	before, id := "", name
	if at := strings.LastIndex(name, "/"); at >= 0 {
		before, id = name[:at+1], name[at+1:]
	}
	if segments := strings.Split(before, "/"); len(segments) > 2 {
		before = "…/" + segments[len(segments)-2] + "/"
	}
	switch {
	case longID().MatchString(id):
		return before + "ID36"
	case strings.HasPrefix(id, "v1_"):
		return before + "v1_ID"
	default:
		return before + "ID"
	}
}
