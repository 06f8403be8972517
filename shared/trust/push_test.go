package trust_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/trust"
)

const pusher = "opledger-push@my-project.iam.gserviceaccount.com"

// pushClaims are the claims of Google's token for a push, with changes as in goodClaims.
func pushClaims(changes map[string]any) string {
	all := map[string]any{"azp": "1083", "sub": "1083", "email": pusher, "email_verified": true}
	maps.Copy(all, changes)
	return goodClaims(start, all)
}

// TestPush: only a token that Google made for this audience and this account is accepted. Other
// callers can get one for this audience and an account of their own [G7].
func TestPush(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	push, err := trust.NewPush(trust.PushOptions{Audience: audience, Account: pusher, Transport: keysTransport(w)})
	if err != nil {
		t.Fatal(err)
	}
	signed := func(change map[string]any) string { return rs256(publishedKey(), goodHeader, pushClaims(change)) }
	for name, c := range map[string]struct {
		token string
		want  error
	}{
		"Google's":                     {signed(nil), nil},
		"Google's, of another form":    {signed(map[string]any{"iss": "accounts.google.com"}), nil},
		"a minute old":                 {signed(map[string]any{"exp": start.Add(-time.Minute).Unix()}), nil},
		"for another audience":         {signed(map[string]any{"aud": "https://elsewhere.example"}), trust.ErrPush},
		"of another account":           {signed(map[string]any{"email": "me@other.iam.gserviceaccount.com"}), trust.ErrPush},
		"of an account not verified":   {signed(map[string]any{"email_verified": false}), trust.ErrPush},
		"of no account":                {signed(map[string]any{"email": nil}), trust.ErrPush},
		"of another issuer":            {signed(map[string]any{"iss": "https://elsewhere.example"}), trust.ErrPush},
		"of no issuer":                 {signed(map[string]any{"iss": nil}), trust.ErrPush},
		"expired":                      {signed(map[string]any{"exp": start.Add(-time.Hour).Unix()}), trust.ErrPush},
		"that never expires":           {signed(map[string]any{"exp": nil}), trust.ErrPush},
		"with a claim of another type": {signed(map[string]any{"email_verified": "true"}), trust.ErrPush},
		"signed by another key":        {rs256(forgersKey(), goodHeader, pushClaims(nil)), trust.ErrPush},
		"unsigned": {encode(`{"alg":"none","kid":"key-1"}`) + "." + encode(pushClaims(nil)) + ".",
			trust.ErrPush},
		"no token": {"hunter2", trust.ErrPush},
		"nothing":  {"", trust.ErrPush},
	} {
		if err := push.Verify(t.Context(), c.token, start); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if n := w.keys.asked.Load(); n != 1 {
		t.Errorf("W7: the keys were fetched %d times", n)
	}
}

// TestPushUnavailable: where Google's keys cannot be fetched the error is ErrUnavailable, so that
// the push is redelivered.
func TestPushUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.keys.set("", errDown)
	push, err := trust.NewPush(trust.PushOptions{Audience: audience, Account: pusher, Transport: keysTransport(w)})
	if err != nil {
		t.Fatal(err)
	}
	err = push.Verify(t.Context(), rs256(publishedKey(), goodHeader, pushClaims(nil)), start)
	if !errors.Is(err, trust.ErrUnavailable) || errors.Is(err, trust.ErrPush) {
		t.Error(err)
	}
}

// TestNewPush: without an audience and an account any token of Google's would be accepted, so both
// are required.
func TestNewPush(t *testing.T) {
	t.Parallel()
	for _, o := range []trust.PushOptions{
		{}, {Audience: audience}, {Account: pusher}, {Audience: audience, Account: pusher, KeysURL: "http://elsewhere"},
	} {
		if _, err := trust.NewPush(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
