package trust_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/trust"
)

var errDown = errors.New("the source is down")

// A step is a source's answer from some time on, and the result of deliveries then.
type step struct {
	after time.Duration // since the start
	value []trust.Secret
	err   error
	want  map[string]error // by the secret that signs
}

func TestSecretsOverTime(t *testing.T) {
	t.Parallel()
	const short = "whsec_c2hvcnQ="
	wrong := gemini.ErrSignature
	for name, steps := range map[string][]step{
		"G3 rotation": {
			{0, versions(secretA), nil, map[string]error{secretA: nil, secretB: wrong}},
			{time.Minute, versions(secretA, secretB), nil, map[string]error{secretA: nil, secretB: nil}},
			{5 * time.Minute, versions(secretB), nil, map[string]error{secretA: nil, secretB: nil}}, // known for 4 minutes
			{6 * time.Minute, versions(secretB), nil, map[string]error{secretA: wrong, secretB: nil}},
		},
		"W1 the source is down for an hour": {
			{0, versions(secretA), nil, map[string]error{secretA: nil}},
			{10 * time.Minute, nil, errDown, map[string]error{secretA: nil, secretB: wrong}},
			{65*time.Minute - 1, nil, errDown, map[string]error{secretA: nil}},
			{66 * time.Minute, nil, errDown, map[string]error{secretA: trust.ErrUnavailable, secretB: errDown}},
			{67 * time.Minute, versions(secretB), nil, map[string]error{secretA: wrong, secretB: nil}},
		},
		"W1 the source is down from the start": {
			{0, nil, errDown, map[string]error{secretA: trust.ErrUnavailable}},
			{29 * time.Second, versions(secretA), nil, map[string]error{secretA: errDown}},
			{30 * time.Second, versions(secretA), nil, map[string]error{secretA: nil}},
		},
		"G3 no version yet": {
			{0, nil, nil, map[string]error{secretA: gemini.ErrNoSecret}},
			{29 * time.Second, versions(secretA), nil, map[string]error{secretA: gemini.ErrNoSecret}},
			{30 * time.Second, versions(secretA), nil, map[string]error{secretA: nil}},
		},
		"W1 all are revoked": {
			{0, versions(secretA), nil, map[string]error{secretA: nil}},
			{5 * time.Minute, nil, nil, map[string]error{secretA: gemini.ErrNoSecret}},
		},
		"G3 a new version is malformed": {
			{0, versions(secretA), nil, map[string]error{secretA: nil}},
			{5 * time.Minute, versions(secretA, short), nil, map[string]error{secretA: nil}},
			{10 * time.Minute, versions(short, secretB), nil, map[string]error{secretA: wrong, secretB: nil}},
			{15 * time.Minute, versions(short), nil, map[string]error{secretA: wrong, secretB: nil}},
			{75 * time.Minute, versions(short), nil, map[string]error{secretB: gemini.ErrSecret}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, step := range steps {
				w.secrets.set(step.value, step.err)
				now := start.Add(step.after)
				for range 2 {
					for _, secret := range []string{secretA, secretB} {
						want, asked := step.want[secret]
						if err := w.verify(headers(now, sign(secret, now)), now); asked && !errors.Is(err, want) {
							t.Errorf("after %v: got %v, want %v", step.after, err, want)
						}
					}
				}
			}
			silent(t, fmt.Sprint(w.log.Drain(t)), "c2hvcnQ", "short\"", secretA, secretB)
		})
	}
}

// TestMalformedIsLoggedOncePerChange: a malformed version is logged once, not once per fetch.
func TestMalformedIsLoggedOncePerChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := start
	for _, test := range []struct {
		values  []string
		outcome any
	}{
		{[]string{secretA}, nil},
		{[]string{secretA, "hunter2"}, "stale-secrets"},
		{[]string{secretA, "hunter2"}, nil},
		{[]string{secretA, "whsec_"}, "stale-secrets"},
		{[]string{secretA, "whsec_", "hunter2"}, "stale-secrets"},
		{[]string{secretA}, "renewed"},
		{[]string{secretA}, nil},
	} {
		w.secrets.set(versions(test.values...), nil)
		if err := w.verify(headers(now, sign(secretA, now)), now); err != nil {
			t.Fatal(err)
		}
		lines := w.log.Drain(t)
		if !outcome(lines, test.outcome) {
			t.Errorf("G3 %q: logged %v, want %v", test.values, lines, test.outcome)
		}
		silent(t, fmt.Sprint(lines), "hunter2", secretA)
		now = now.Add(10 * time.Minute)
	}
}

// TestForgeryIsCheckedOnce: where no newer secret is fetched, a forged body is hashed once [W7].
func TestForgeryIsCheckedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 2 { // the first delivery fetches the secrets, the second comes within the gap
		asked := 0
		_, err := w.gate.Verify(t.Context(), headers(start, sign(secretB, start)), func() ([]byte, error) {
			asked++
			return []byte(body), nil
		}, start)
		if !errors.Is(err, gemini.ErrSignature) || asked != 1 {
			t.Errorf("delivery %d: %v, the body was asked for %d times, want once", i, err, asked)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		secrets []trust.Secret
		err     error
		want    error
		says    []string
	}{
		"good":             {secrets: versions(secretA, secretB)},
		"none":             {want: gemini.ErrNoSecret},
		"down":             {err: errDown, want: errDown, says: []string{"fetching the webhook's secrets"}},
		"one is malformed": {secrets: versions(secretA, "hunter2"), want: gemini.ErrSecret, says: []string{"versions/2"}},
		"two are malformed": {secrets: versions("", secretA, "whsec_c2hvcnQ="), want: gemini.ErrSecret,
			says: []string{"versions/1", "versions/3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &source[[]trust.Secret]{}
			s.set(test.secrets, test.err)
			secrets := trust.NewSecrets(s.get, trust.SecretsOptions{})
			for range 3 {
				err := secrets.Load(t.Context(), start)
				if !errors.Is(err, test.want) {
					t.Fatalf("got %v, want %v", err, test.want)
				}
				for _, text := range test.says {
					if !strings.Contains(err.Error(), text) {
						t.Errorf("%q does not say %q", err, text)
					}
				}
				silent(t, fmt.Sprint(err), "hunter2", "c2hvcnQ", secretA)
			}
			if n := s.asked.Load(); n != 1 {
				t.Errorf("asked %d times within the gap", n)
			}
		})
	}
	fixed, err := trust.FixedSecrets(secretA)
	if err != nil || fixed.Load(t.Context(), start) != nil {
		t.Errorf("fixed secrets do not load: %v", err)
	}
}
