package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/operation"
)

// unescapeID is the inverse of escapeID for every id that is not hashed. That it exists proves that
// no two texts share an id.
func unescapeID(t *testing.T, id string) string {
	t.Helper()
	id = strings.TrimPrefix(id, "%_")
	var text strings.Builder
	for i := 0; i < len(id); i++ {
		switch id[i] {
		case ':':
			text.WriteByte('/')
		case '%':
			if i+2 >= len(id) {
				t.Fatalf("the id %q ends in half an escape", id)
			}
			b, err := strconv.ParseUint(id[i+1:i+3], 16, 8)
			if err != nil {
				t.Fatalf("the id %q has a malformed escape: %v", id, err)
			}
			text.WriteByte(byte(b))
			i += 2
		default:
			text.WriteByte(id[i])
		}
	}
	return text.String()
}

// checkID checks one text's id against what stores demand and against its text.
func checkID(t *testing.T, text string) {
	t.Helper()
	id := escapeID(text)
	switch {
	case id == "", id == ".", id == "..", strings.HasPrefix(id, "__"):
		t.Errorf("the id of %q is reserved: %q", text, id)
	case len(id) > maxIDBytes:
		t.Errorf("the id of %q has %d bytes", text, len(id))
	case !utf8.ValidString(id):
		t.Errorf("the id of %q is not UTF-8: %q", text, id)
	case strings.ContainsRune(id, '/'):
		t.Errorf("the id of %q has a slash: %q", text, id)
	case strings.ContainsFunc(id, func(r rune) bool { return r < utf8.RuneSelf && unicode.IsControl(r) }):
		t.Errorf("the id of %q has a control character: %q", text, id)
	case id != escapeID(text):
		t.Errorf("the id of %q varies", text)
	}
	if _, hash, hashed := strings.Cut(id, "%~"); hashed {
		sum := sha256.Sum256([]byte(text))
		if hash != hex.EncodeToString(sum[:]) {
			t.Errorf("the id of %q does not end in its hash: %q", text, id)
		}
		if len(text) <= maxIDBytes/3 {
			t.Errorf("the id of %q is hashed, though it is short", text)
		}
	} else if back := unescapeID(t, id); back != text {
		t.Errorf("the id of %q is %q, which is that of %q", text, id, back)
	}
}

func FuzzEscapeID(f *testing.F) {
	for _, text := range []string{
		"", ".", "..", "...", "__x__", "__", "_", "a/b", "a:b", "a%3Ab", "%_", "%~", "%", "\xff", "\ufffd", "\x00", "é", "🙂",
		strings.Repeat("x", 500), strings.Repeat("x", 501), strings.Repeat("é", 1000), strings.Repeat("%", 200),
	} {
		f.Add(text)
	}
	f.Fuzz(checkID)
}

// TestIDsOfNastyTexts makes texts of everything that an escape could trip over.
func TestIDsOfNastyTexts(t *testing.T) {
	t.Parallel()
	alphabet := []string{
		"/", ":", "%", "_", "__", ".", "~", "2", "5", "F", "3A", "%25", "%_", "%~", "\x00", "\xff", "\xc3", "é", "\ufffd",
		"🙂", "x",
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same texts each time
	seen := map[string]string{}
	for i := range 20_000 {
		var b strings.Builder
		parts := random.IntN(8)
		if i%100 == 0 {
			parts = 150 + random.IntN(400) // around and beyond the longest
		}
		for range parts {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		text := b.String()
		checkID(t, text)
		id := escapeID(text)
		if other, taken := seen[id]; taken && other != text {
			t.Fatalf("%q and %q have the id %q", text, other, id)
		}
		seen[id] = text
		if t.Failed() {
			return
		}
	}
}

// TestLongIDsWithOneBeginning: the readable beginning is the same, the documents are not.
func TestLongIDsWithOneBeginning(t *testing.T) {
	t.Parallel()
	beginning := strings.Repeat("batches/", 100)
	one, two := escapeID(beginning+"a"), escapeID(beginning+"b")
	if one == two || one[:400] != two[:400] || !strings.HasPrefix(one, "batches:batches:") {
		t.Errorf("%q and %q", one, two)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	effect := EffectPath("batches/abc123", "publish")
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"a record's path, as a person reads it", OperationPath("batches/abc123"), Path("operations/batches:abc123")},
		{"an effect's path", effect, Path("operations/batches:abc123/effects/publish")},
		{"its collection", effect.Collection(), EffectsCollection},
		{"its parent", effect.Parent(), OperationPath("batches/abc123")},
		{"a record's collection", effect.Parent().Collection(), OperationsCollection},
		{"a record's parent", effect.Parent().Parent(), Path("")},
		{"the parent of nothing", Path("").Parent(), Path("")},
		{"the collection of nothing", Path("").Collection(), ""},
		{"an id that looks like a path", quarantinePath("a/effects/b").Collection(), QuarantineCollection},
		{"the parent of an id that looks like a path", intentPath("a/effects/b").Parent(), Path("")},
		{"a delivery's path", deliveryPath("a", operation.Webhook, "b/c"), Path("operations/a/deliveries/b:c")},
		{
			"a look-up's", deliveryPath("a", operation.Reconcile, "reconcile-FAILED"),
			Path("operations/a/deliveries/reconcile-FAILED"),
		},
		{
			"a delivery's that looks like a look-up's", deliveryPath("a", operation.Webhook, "reconcile-FAILED"),
			Path("operations/a/deliveries/webhook-reconcile-FAILED"),
		},
		{
			"a delivery's that looks like that", deliveryPath("a", operation.Webhook, "webhook-reconcile-FAILED"),
			Path("operations/a/deliveries/webhook-webhook-reconcile-FAILED"),
		},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
}

// TestIDsAreReadable: what need not be escaped is kept, up to the longest id.
func TestIDsAreReadable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a b", "é", strings.Repeat("x", maxIDBytes)} {
		if id := escapeID(text); id != text {
			t.Errorf("the id of %q is %q", text, id)
		}
	}
	if id := escapeID("a\x7fb"); id != "a%7Fb" {
		t.Errorf("a control character is kept in %q", id)
	}
}
