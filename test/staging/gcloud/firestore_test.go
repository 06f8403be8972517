package gcloud

import (
	"fmt"
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
	composites := 0
	for _, index := range table(t, "index") {
		columns := strings.Split(index[1], ",")
		if name, order, _ := strings.Cut(index[1], ":"); len(columns) == 1 {
			patched(index[0], name, fmt.Sprintf(`{"queryScope":"COLLECTION_GROUP","fields":[{"fieldPath":%q,"order":%q}]}`, name,
				strings.ToUpper(order)))
			continue
		}
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
}
