package ledgertest

import (
	"strings"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// idTexts are ids that providers, submitters and attackers could choose. No two may meet in one
// document.
func idTexts() []string {
	texts := []string{
		"plain", "Plain", "a/b", "a:b", "a%3Ab", "a%2Fb", "a%b", "%", "%%", "%_", "%25", "/", "//", ":", ".", "..", "...",
		"./..", "a.b",
		"__x__", "____", "__", "_", "__x", "x__", "%___x__", "", " ", "  ", " a", "a ", "\t", "\n", "\x00", "a\x00b",
		"\x01", "\x1f", "\x7f",
		"\xff", "\xfe", "\xff\xfe", "a\xc3", "a\xc3\xa9", "é", "e\u0301", "\ufffd", "日本", "🙂", "*", "[a]", "`a`",
		"'a'", "\"a\"",
		"\\", "$", "#",
		"~", "%~", "-", "null", "a,b", "a;b", "a?b", "a&b=c", "<a>", "\u00a0", "\u200b", "\ufeff", "\u2028",
	}
	for _, n := range []int{496, 498, 500, 502, 1022, 1498, 1500, 1502, 2000} {
		texts = append(
			texts, strings.Repeat("x", n), strings.Repeat("/", n), strings.Repeat("é", n/2), strings.Repeat("\x00", n),
		)
	}
	for _, last := range []string{"a", "b", "\xff"} {
		texts = append(texts, strings.Repeat("y", 2000)+last)
	}
	return texts
}

// someIDs are a part of idTexts, for tests in which each costs a call of the ledger.
func someIDs() []string {
	return []string{
		"plain", "a/b", "a:b", "a%2Fb", ".", "..", "__x__", "", " ", "\x00", "\xff", "\xfe", "\ufffd", "é", "🙂",
		strings.Repeat("x", 500), strings.Repeat("x", 1501), strings.Repeat("é", 1000), strings.Repeat("/", 2000),
		strings.Repeat("y", 2000) + "a", strings.Repeat("y", 2000) + "b", strings.Repeat("y", 2000) + "\xff",
	}
}

// putAll creates notes at many paths, some at a time, and names those that the store refuses.
func (d desk) putAll(paths []ledger.Path, at func(i int) note) {
	d.Helper()
	const batch = 100
	for start := 0; start < len(paths); start += batch {
		var writes []ledger.Write
		for i := start; i < min(start+batch, len(paths)); i++ {
			writes = append(writes, ledger.Write{Path: paths[i], Data: at(i)})
		}
		if _, err := d.store.Commit(d.Context(), writes...); err == nil {
			continue
		}
		for _, w := range writes {
			if _, err := d.store.Commit(d.Context(), w); err != nil {
				d.Errorf("%.80s is refused: %v", w.Path, err)
			}
		}
	}
}

var idTests = []storeTest{
	onDesk("any text can be an id, at every level", func(d desk) {
		texts := idTexts()
		var paths []ledger.Path
		for _, text := range texts {
			root := ledger.OperationPath(operation.Key(text))
			paths = append(
				paths, root, pathA.Child(ledger.DeliveriesCollection, text), root.Child(ledger.EffectsCollection, text),
			)
		}
		d.putAll(paths, func(i int) note { return note{Body: []byte(texts[i/3]), Count: int64(i)} })
		// All exist, each with its own text: no two share a document.
		snapshot, err := d.store.Get(d.Context(), paths...)
		if err != nil {
			d.Fatal(err)
		}
		for i, doc := range snapshot.Documents {
			var n note
			if err := doc.Decode(&n); err != nil {
				d.Fatal(err)
			}
			if doc.Path != paths[i] || string(n.Body) != texts[i/3] || n.Count != int64(i) {
				d.Errorf("the document of id %.40q holds %.40q", texts[i/3], n.Body)
			}
		}
	}),
	onDesk("any id can be queried under, and is returned as the same path", func(d desk) {
		var parents, children []ledger.Path
		for _, text := range idTexts() {
			parent := ledger.OperationPath(operation.Key(text))
			parents, children = append(parents, parent), append(children, parent.Child(ledger.EffectsCollection, text))
		}
		d.putAll(children, func(int) note { return note{CreatedAt: noon} })
		for i, parent := range parents {
			d.wantFound(ledger.Query{
				Collection: ledger.EffectsCollection, Under: parent, OrderBy: ledger.FieldCreatedAt,
			}, children[i])
		}
	}),
	onDesk("a document is not found under another's name", func(d desk) {
		d.put(ledger.OperationPath("a/b"), note{})
		for _, text := range []string{"a:b", "a%3Ab", "a%2Fb", "A/b", "a/b ", "a/b/"} {
			if d.get(ledger.OperationPath(operation.Key(text))).Exists() {
				d.Errorf("a/b is found as %q", text)
			}
		}
	}),
}
