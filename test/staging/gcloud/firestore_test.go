package gcloud

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestIndexes: the database gets every index, exemption and TTL policy of infra/firestore.json [L3,
// L4].
func TestIndexes(t *testing.T) {
	t.Parallel()
	r := first(t)
	patched := func(collection, field, want string) {
		found := r.matching("curl", fmt.Sprintf("/databases/opledger/collectionGroups/%s/fields/%s?", collection, field))
		if len(found) != 1 || !strings.Contains(found[0].Line, want) {
			t.Errorf("%s.%s: %+v, want one request with %s", collection, field, found, want)
		} else if found[0].Stdin != "Authorization: Bearer token-of-mine\n" || strings.Contains(found[0].Line,
			"token-of-mine") {
			t.Errorf("the token is not where it belongs: %+v", found[0])
		}
	}
	for _, field := range table(t, "field") {
		var indexes []string
		for index := range strings.SplitSeq(field[2], ",") {
			scope, order, _ := strings.Cut(index, ":")
			indexes = append(indexes, fmt.Sprintf(`{"queryScope":%q,"fields":[{"fieldPath":%q,"order":%q}]}`, scope, field[1],
				order))
		}
		patched(field[0], field[1], `{"indexConfig":{"indexes":[`+strings.Join(indexes, ",")+`]}}`)
	}
	composites := 0
	for _, index := range table(t, "index") {
		columns := strings.Split(index[1], ",")
		composites++
		want := "--collection-group=" + index[0] + " --query-scope=collection-group"
		for _, column := range columns {
			want += " --field-config=field-path=" + strings.Replace(column, ":", ",order=", 1)
		}
		if len(r.matching("firestore indexes composite create", want+" --async")) != 1 {
			t.Errorf("no index %s", want)
		}
	}
	if n := len(r.matching("firestore indexes composite create")); n != composites || n == 0 {
		t.Errorf("%d composite indexes, want %d", n, composites)
	}
	for _, field := range table(t, "unindexed") {
		patched(field[0], field[1], `{"indexConfig":{"indexes":[]}}`)
	}
	for _, field := range table(t, "expiry") {
		patched(field[0], field[1], `{"indexConfig":{"indexes":[]},"ttlConfig":{}}`)
	}
	rest := slices.IndexFunc(r.calls, func(c call) bool { return strings.Contains(c.Line, "/fields/*?") })
	for _, field := range table(t, "field") {
		if at := slices.IndexFunc(r.calls, func(c call) bool {
			return strings.Contains(c.Line, "/collectionGroups/"+field[0]+"/fields/"+field[1]+"?")
		}); at > rest {
			t.Errorf("%v loses its index while all other fields are exempted", field)
		}
	}
}

// TestIndexesOfAnOlderDeployment: a field that has other indexes than its queries need gets those, and
// an exemption that is missing is made.
func TestIndexesOfAnOlderDeployment(t *testing.T) {
	t.Parallel()
	older := becomes(`^gcloud firestore indexes fields list`, `(?m)^operations dueAt .*$`,
		"operations dueAt COLLECTION,COLLECTION,COLLECTION_GROUP ASCENDING,DESCENDING,ASCENDING READY,READY,READY ").
		of(t, deployed(t))
	older = without(`^gcloud firestore indexes fields list`, `(?m)^intents [*] .*\n`).of(t, older)
	r := deploy(t, older.withOnly(t, "field operations", "unindexed intents", "unindexed operations")).want(t, 0)
	var made []string
	for _, c := range r.matching("curl", "/fields/") {
		_, field, _ := strings.Cut(c.Line, "/collectionGroups/")
		field, _, _ = strings.Cut(field, "?")
		made = append(made, field)
	}
	compare(t, made, []string{"operations/fields/dueAt", "intents/fields/*"})
}
