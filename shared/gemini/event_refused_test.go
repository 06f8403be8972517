package gemini_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/operation"
)

type refusedTest struct {
	name, body string
	unknown    string   // the type, for an unknown one
	says       []string // else what the error says
	fields     []string
}

func refusedTests() []refusedTest {
	return []refusedTest{
		{name: "W6 ping", body: `{"type":"ping"}`, unknown: "ping"},
		{name: "W6 webhook.ping with data", body: `{"type":"webhook.ping","data":{"id":"x"}}`, unknown: "webhook.ping"},
		{name: "W6 a verb of tomorrow", body: envelope("batch.paused", `{"id":"x"}`), unknown: "batch.paused"},
		{name: "W6 a kind of tomorrow", body: envelope("agent.succeeded", `{"id":"x"}`), unknown: "agent.succeeded"},
		{name: "W6 a kind alone", body: envelope("batch", `{"id":"x"}`), unknown: "batch"},
		{name: "W6 more words", body: envelope("batch.item.failed", `{"id":"x"}`), unknown: "batch.item.failed"},
		{name: "W6 capitals", body: envelope("Batch.Succeeded", `{"id":"x"}`), unknown: "Batch.Succeeded"},
		{name: "J3 a job", body: envelope("batch.succeeded", `{"id":"jobs/nightly"}`), says: []string{"it names a job"}},
		{name: "J3 a part", body: envelope("batch.succeeded", `{"id":"jobs/n/00001"}`), says: []string{"it names a job"}},
		{
			name: "K3 no name", body: envelope("batch.succeeded", `{"output_file_uri":"files/x"}`),
			says:   []string{"names no operation", "found data, data.output_file_uri, timestamp, type, version"},
			fields: []string{"data", "data.output_file_uri", "timestamp", "type", "version"},
		},
		{
			name: "K3 an id beside data is the event's", body: `{"type":"batch.succeeded","id":"evt_1"}`,
			says: []string{"names no operation", "found id, type"}, fields: []string{"id", "type"},
		},
		{
			name: "K3 id is a number", body: envelope("batch.succeeded", `{"id":123}`),
			says:   []string{"data.id is a number, not a name"},
			fields: []string{"data", "data.id", "timestamp", "type", "version"},
		},
		{
			name: "K3 id is empty", body: envelope("batch.succeeded", `{"id":""}`), says: []string{"data.id is an empty text"},
			fields: []string{"data", "data.id", "timestamp", "type", "version"},
		},
		{
			name: "K3 id is an object", body: envelope("batch.succeeded", `{"id":{"a":1}}`),
			says: []string{"data.id is an object"}, fields: []string{"data", "data.id", "timestamp", "type", "version"},
		},
		{
			name: "K3 name is true", body: envelope("batch.succeeded", `{"name":true}`),
			says: []string{"data.name is a truth value"}, fields: []string{"data", "data.name", "timestamp", "type", "version"},
		},
		{
			name: "K3 data is a list", body: envelope("batch.succeeded", `[{"id":"x"}]`), says: []string{"data is a list"},
			fields: []string{"data", "timestamp", "type", "version"},
		},
		{
			name: "K3 data is null", body: envelope("batch.succeeded", `null`), says: []string{"data is null"},
			fields: []string{"data", "timestamp", "type", "version"},
		},
		{
			name: "K1 half a surrogate pair in the name", body: envelope("batch.succeeded", `{"id":"batches/a\ud800"}`),
			says: []string{"cannot be used", `"batches/a\ufffd" has U+FFFD`},
		},
		{
			name: "K1 the other half", body: envelope("batch.succeeded", `{"id":"a\udc00b"}`),
			says: []string{"cannot be used", "U+FFFD"},
		},
		{
			name: "K1 name that a sender garbled", body: envelope("batch.succeeded", `{"id":"a�"}`),
			says: []string{"cannot be used", "U+FFFD"},
		},
		{
			name: "K6 half a surrogate pair in the correlation id",
			body: envelope("batch.succeeded", `{"id":"a","user_metadata":{"opledger_correlation_id":"c\udfff"}}`),
			says: []string{`correlation id "c\ufffd" has U+FFFD`},
		},
		{
			name: "K1 name with a control character", body: envelope("batch.succeeded", `{"id":"a\u0000b"}`),
			says: []string{"cannot be used", "not printable"},
		},
		{
			name: "K1 name too long", body: envelope("batch.succeeded", `{"id":"`+strings.Repeat("x", 2000)+`"}`),
			says: []string{"cannot be used", "2000 bytes"},
		},
		{name: "no type", body: `{"data":{"id":"x"}}`, says: []string{"no type", "found data"}, fields: []string{"data"}},
		{name: "type is a number", body: `{"type":1}`, says: []string{"no type"}, fields: []string{"type"}},
		{name: "type is empty", body: `{"type":""}`, says: []string{"no type"}, fields: []string{"type"}},
		{name: "empty", body: ``, says: []string{"not a JSON object"}},
		{name: "null", body: `null`, says: []string{"null"}},
		{name: "a list", body: `[]`, says: []string{"not a JSON object"}},
		{name: "not JSON", body: `type=batch.succeeded`, says: []string{"not a JSON object"}},
		{name: "cut short", body: `{"type":"batch.succ`, says: []string{"not a JSON object"}},
		{name: "garbage behind", body: vectorRaw + "x", says: []string{"not a JSON object"}},
		{name: "a second object behind", body: vectorRaw + "{}", says: []string{"not a JSON object"}},
		{name: "byte order mark", body: "\ufeff" + vectorRaw, says: []string{"not a JSON object"}},
		{name: "not UTF-8", body: envelope("batch.succeeded", "{\"id\":\"\xff\"}"), says: []string{"not UTF-8"}},
		{
			name: "nested beyond reason",
			body: envelope("batch.succeeded", strings.Repeat(`{"id":`, 20000)+"1"+strings.Repeat("}", 20000)),
			says: []string{"not a JSON object"},
		},
	}
}

func TestDecodeEventRefused(t *testing.T) {
	t.Parallel()
	for _, test := range refusedTests() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := gemini.DecodeEvent("d", []byte(test.body))
			var unknown *gemini.UnknownTypeError
			if errors.As(err, &unknown) != (test.unknown != "") {
				t.Fatalf("W6: got %v", err)
			}
			if test.unknown != "" {
				if unknown.Type != test.unknown || !strings.Contains(err.Error(), test.unknown) {
					t.Errorf("got type %q, error %q", unknown.Type, err)
				}
				return
			}
			var malformed *gemini.MalformedError
			if !errors.As(err, &malformed) {
				t.Fatalf("W6: got %v", err)
			}
			for _, words := range test.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q does not say %q", err, words)
				}
			}
			if diff := cmp.Diff(test.fields, malformed.Fields); diff != "" {
				t.Errorf("K3: fields -want +got\n%s", diff)
			}
			if strings.HasPrefix(test.name, "K1") && !errors.Is(err, operation.ErrName) {
				t.Errorf("%v does not wrap operation.ErrName", err)
			}
		})
	}
}

// TestDecodeEventBounds: long texts of a sender are cut for records and log lines.
func TestDecodeEventBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 100_000)
	event, err := gemini.DecodeEvent(
		"d", []byte(envelope("batch.failed", `{"id":"x","error_code":"`+long+`","error_message":"`+long+`"}`)),
	)
	if err != nil {
		t.Fatal(err)
	}
	if r := event.Result; len(r.ErrorMessage) > 4096 || len(r.ErrorMessage) < 4090 ||
		!strings.HasSuffix(r.ErrorMessage, "ü…") ||
		len(r.ErrorCode) > 128 {
		t.Errorf("message of %d bytes, code of %d", len(r.ErrorMessage), len(r.ErrorCode))
	}
	var many strings.Builder
	for i := range 5000 {
		many.WriteString(`"` + strings.Repeat("k", i%300) + `":1,`)
	}
	_, err = gemini.DecodeEvent("d", []byte(`{`+many.String()+`"type":"batch.failed"}`))
	if err == nil || len(err.Error()) > 8<<10 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
	if _, err = gemini.DecodeEvent("d", []byte(`{"type":"`+long+`"}`)); err == nil || len(err.Error()) > 1<<10 {
		t.Errorf("an error of %d bytes", len(err.Error()))
	}
}
