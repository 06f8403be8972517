package gemini_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/operation"
)

// FuzzVerify: a delivery is accepted exactly if one entry of the signature header is the right one [W1].
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
		err := v.Verify(h, body, vectorTime)
		switch {
		case err == nil && !right:
			t.Fatal("W1: accepted without a signature")
		case errors.Is(err, gemini.ErrStale) && !right:
			t.Fatal("W2: stale without a signature")
		case err != nil && !errors.Is(err, gemini.ErrSignature) && !errors.Is(err, gemini.ErrStale):
			t.Fatalf("an error that nobody knows: %v", err)
		}
		// What was just signed must be accepted beside whatever the header holds, at a time that can be read.
		if id != "" {
			h = headers(id, "1700000000", signature+" "+sign(secretA, id, "1700000000", string(body)))
			if err := v.Verify(h, body, vectorTime); err != nil {
				t.Fatalf("W1: refused with a signature: %v", err)
			}
		}
	})
}

// FuzzDecodeEvent: no body makes decoding panic, and what it says is always of use [K3, W6].
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
		if again, errAgain := gemini.DecodeEvent("msg_1", body); !cmp.Equal(event, again) || (err == nil) != (errAgain == nil) {
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
		if r := event.Result; len(r.ErrorMessage) > 4<<10 || len(r.ErrorCode) > 128 || len(event.CorrelationID) > 256 {
			t.Fatalf("an event too large for a record: %+v", event)
		}
		if !event.UpdateTime.Equal(operation.Instant(event.UpdateTime)) {
			t.Fatalf("M4: %v keeps more than microseconds", event.UpdateTime)
		}
	})
}
