package gemini_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/operation"
)

// FuzzVerify: a delivery is accepted exactly if one entry of the signature header is the right one
// [W1].
func FuzzVerify(f *testing.F) {
	f.Add("msg_1", "1700000000", vectorSig, []byte(vectorRaw))
	f.Add("msg_1", "1700000000", vectorSig+" v1,AAAA", []byte(vectorRaw))
	f.Add("msg_1", "01700000000", "v1,", []byte("{}"))
	f.Add("", "", "", []byte(nil))
	f.Add("a.1", "1700000000", "eyJh.eyJi.c2ln", []byte("null"))
	v := newVerifier(f, secretB, secretA)
	f.Fuzz(func(t *testing.T, id, stamp, signature string, body []byte) {
		h := headers(id, stamp, signature)
		entries := strings.Split(signature, " ")
		right := slices.Contains(entries, sign(secretA, id, stamp, string(body))) ||
			slices.Contains(entries, sign(secretB, id, stamp, string(body)))
		err := v.Verify(h, body)
		switch {
		case err == nil && !right:
			t.Fatal("W1: accepted without a signature")
		case err != nil && !errors.Is(err, gemini.ErrSignature):
			t.Fatalf("neither accepted nor ErrSignature: %v", err)
		}
		// What was just signed must be accepted beside whatever the header holds, at a time that
		// can be read.
		if id != "" {
			h = headers(id, "1700000000", signature+" "+sign(secretA, id, "1700000000", string(body)))
			if err := v.Verify(h, body); err != nil {
				t.Fatalf("W1: refused with a signature: %v", err)
			}
		}
	})
}

// FuzzDecodeEvent: decoding never panics, and returns a complete event or one of the two errors
// [K3, W6].
func FuzzDecodeEvent(f *testing.F) {
	f.Add([]byte(vectorRaw))
	for _, test := range decodeTests() {
		f.Add([]byte(test.body))
	}
	for _, test := range refusedTests() {
		f.Add([]byte(test.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		event, err := gemini.DecodeEvent("msg_1", body)
		if again, errAgain := gemini.DecodeEvent("msg_1", body); !cmp.Equal(event, again) ||
			(err == nil) != (errAgain == nil) {
			t.Fatalf("twice the same body, two events:\n%+v\n%+v", event, again)
		}
		if err != nil {
			var unknown *gemini.UnknownTypeError
			var malformed *gemini.MalformedError
			if errors.As(err, &unknown) == errors.As(err, &malformed) {
				t.Fatalf("W6: neither unknown nor malformed, or both: %v", err)
			}
			if !cmp.Equal(event, operation.Event{}) {
				t.Fatalf("an event beside an error: %+v", event)
			}
			if len(err.Error()) > 16<<10 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if event.Key == "" || !event.State.Known() || event.Source != operation.Webhook || event.DeliveryID != "msg_1" {
			t.Fatalf("an event of no use: %+v", event)
		}
		if name, err := operation.ParseName(event.Resource, event.Key.Collection()); err != nil || name.Key != event.Key {
			t.Fatalf("K1: resource %q has key %q, then %q (%v)", event.Resource, event.Key, name.Key, err)
		}
		if id := gemini.CorrelationOf(body); event.CorrelationID != id {
			t.Fatalf("K6: the event has %q, its body %q", event.CorrelationID, id)
		}
		if r := event.Result; len(r.ErrorMessage) > 4<<10 || len(r.ErrorCode) > 128 || len(event.CorrelationID) > 256 {
			t.Fatalf("an event too large for a record: %+v", event)
		}
		if !event.UpdateTime.Equal(operation.Instant(event.UpdateTime)) {
			t.Fatalf("M4: %v keeps more than microseconds", event.UpdateTime)
		}
	})
}

// members returns a number that grows with the members of all objects in a JSON text.
func members(text []byte) (n int) {
	decoder, inObject := json.NewDecoder(bytes.NewReader(text)), []bool{}
	for {
		token, err := decoder.Token()
		if err != nil {
			return n
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			inObject = append(inObject, token == json.Delim('{'))
		case json.Delim('}'), json.Delim(']'):
			inObject = inObject[:len(inObject)-1]
		}
		if len(inObject) > 0 && inObject[len(inObject)-1] {
			n++
		}
	}
}

// FuzzCorrelation: the id is found among any other fields in any order, and a display name returns
// it [K6, G6].
func FuzzCorrelation(f *testing.F) {
	f.Add([]byte(`{"data":{"user_metadata":{"opledger_correlation_id":"c-1"}}}`), "nightly", "c-1")
	f.Add(
		[]byte(`{"b":[{"x":{"opledger_correlation_id":"c-2"}}],"a":[[{"opledger_correlation_id":"c-3"}]]}`), "a opledger:b ",
		"ü",
	)
	f.Add([]byte(`null`), "\xff\u00a0", "a b")
	f.Fuzz(func(t *testing.T, claims []byte, name, id string) {
		got := gemini.CorrelationOf(claims)
		if len(got) > 256 || got != strings.TrimSpace(got) {
			t.Fatalf("K6: %q is no id", got)
		}
		var object map[string]any
		if json.Unmarshal(claims, &object) == nil && utf8.Valid(claims) {
			sorted, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			// Of two members with one name, Marshal has the later alone.
			if again := gemini.CorrelationOf(sorted); again != got && members(claims) == members(sorted) {
				t.Fatalf("K6: %q in %s, %q in %s", got, claims, again, sorted)
			}
		}
		display := gemini.DisplayName(name, id)
		if len(display) > 128 || !utf8.ValidString(display) {
			t.Fatalf("a display name of %d bytes: %q", len(display), display)
		}
		if gemini.CheckCorrelationID(id) != nil {
			return
		}
		if back := gemini.CorrelationIn(display); back != id {
			t.Fatalf("G6: %q carries %q, not %q", display, back, id)
		}
		around, err := json.Marshal(map[string]any{
			"data": map[string]any{"user_metadata": map[string]any{gemini.CorrelationKey: id}, "beside": object}, "more": object,
		})
		if err != nil {
			t.Fatal(err)
		}
		if back := gemini.CorrelationOf(around); back != id {
			t.Fatalf("K6: got %q, want %q of %s", back, id, around)
		}
	})
}
