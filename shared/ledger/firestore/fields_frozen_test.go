package firestore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	raw "cloud.google.com/go/firestore/apiv1"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/test/harness"
)

// TestFrozenDocuments: what the first release stored is read as what it meant, and stored so [L5]. The
// golden files have documents as Firestore's REST API shows them.
func TestFrozenDocuments(t *testing.T) {
	t.Parallel()
	project := harness.ProjectID(t)
	store := openIn(t, project)
	t.Cleanup(func() { _ = store.Close() })
	client, err := raw.NewClient(t.Context(), dial.Options(harness.Firestore(t))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	name := func(path ledger.Path) string {
		return fmt.Sprintf("projects/%s/databases/(default)/documents/%s", project, path)
	}
	stored := ledgertest.RawStore{
		Store: store,
		Read: func(t testing.TB, path ledger.Path) []byte {
			t.Helper()
			document, err := client.GetDocument(t.Context(), &firestorepb.GetDocumentRequest{Name: name(path)})
			if err != nil {
				t.Fatal(err)
			}
			return printed(t, &firestorepb.Document{Fields: document.GetFields()})
		},
		Write: func(t testing.TB, path ledger.Path, text []byte) {
			t.Helper()
			document := &firestorepb.Document{}
			if err := protojson.Unmarshal(text, document); err != nil {
				t.Fatal(err)
			}
			document.Name = name(path)
			_, err := client.UpdateDocument(t.Context(), &firestorepb.UpdateDocumentRequest{Document: document})
			if err != nil {
				t.Fatal(err)
			}
		},
	}
	documents := append(ledgertest.FrozenDocuments(), result())
	ledgertest.CheckFrozen(t, "testdata", stored, documents)
}

// printed returns a document as text, without what protojson makes different at random.
func printed(t testing.TB, document *firestorepb.Document) []byte {
	t.Helper()
	text, err := protojson.Marshal(document)
	var printed bytes.Buffer
	if err == nil {
		err = json.Indent(&printed, text, "", "  ")
	}
	if err != nil {
		t.Fatal(err)
	}
	return append(printed.Bytes(), '\n')
}

// result is the document of an effect that writes the items of a batch back.
func result() ledgertest.Frozen {
	return ledgertest.Frozen{Kind: "result", Data: results.ItemResult{
		Schema: 1, Operation: "batches/abc-123", JobKind: "nightly", Key: "review-17", Index: 17,
		Response: `{"text":"<ü>"}`, Error: `{"code":8}`, IdempotencyKey: "gemini:batches/abc-123#publish/items/review-17",
	}}
}
