package infra_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// roles is every role that is given, and how often infra/ does: the README's table has the reason for each.
var roles = map[string]int{
	"roles/artifactregistry.writer":              1,
	"roles/datastore.user":                       4,
	"roles/iam.serviceAccountOpenIdTokenCreator": 1,
	"roles/logging.logWriter":                    1,
	"roles/pubsub.publisher":                     5,
	"roles/pubsub.subscriber":                    1,
	"roles/run.invoker":                          4,
	"roles/secretmanager.secretAccessor":         5,
	"roles/secretmanager.viewer":                 1,
	"roles/storage.legacyObjectReader":           1,
	"roles/storage.objectCreator":                1,
	"roles/storage.objectViewer":                 1,
}

// TestRolesAreFew: nothing beside the table is given to anybody, nothing is Owner or Editor, and one thing only is public [G1].
func TestRolesAreFew(t *testing.T) {
	t.Parallel()
	text := regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(terraform(t), "")
	given := map[string]int{}
	for _, match := range regexp.MustCompile(`(?m)^\s*role\s*=\s*(\S+)$`).FindAllStringSubmatch(text, -1) {
		given[strings.Trim(match[1], `"`)]++
	}
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		if given[role] != roles[role] {
			t.Errorf("%s is given %d times, the table says %d", role, given[role], roles[role])
		}
		delete(given, role)
	}
	for role := range given {
		t.Errorf("%s is given, and not in the table", role)
	}
	if strings.Contains(text, "_iam_policy\"") || strings.Contains(text, "_iam_binding\"") {
		t.Error("a policy or binding takes away what others have given: only members are added")
	}
	public := regexp.MustCompile(`(?m)^\s*member\s*=\s*"(allUsers|allAuthenticatedUsers)"`).FindAllString(text, -1)
	if len(public) != 1 {
		t.Errorf("%d things are public", len(public))
	}
}
