package ledger

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/operation"
)

// TestBackoff: it grows, is bounded by six leases, and no attempt number breaks it [S4].
func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{time.Nanosecond, time.Second, 10 * time.Minute, 100 * 24 * time.Hour} {
		settings := DefaultSettings()
		settings.ClaimTTL = ttl
		l, err := New(nil, settings, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, chance := range []float64{0, 0.5, 0.999} {
			last := time.Duration(0)
			for _, failure := range []int{1, 2, 3, 10, 20, 21, 22, 63, 64, 1 << 30} {
				wait := l.backoff(failure, chance)
				if wait < last || wait > 6*ttl {
					t.Errorf("lease %v, failure %d: %v after %v", ttl, failure, wait, last)
				}
				last = wait
			}
			if ttl >= time.Second && last < 3*ttl-1 {
				t.Errorf("lease %v: at last it waits for %v", ttl, last)
			}
		}
	}
}

// TestNext: what a pass looked at is due again before the next pass, and not at once [R6].
func TestNext(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 123456789, time.UTC)
	for _, jitter := range []float64{0, 0.5, 0.999} {
		l, err := New(nil, DefaultSettings(), Options{Jitter: func() float64 { return jitter }})
		if err != nil {
			t.Fatal(err)
		}
		for intervals := 1; intervals <= waitingFactor; intervals += waitingFactor - 1 {
			in := l.next(start, intervals).Sub(start)
			whole := time.Duration(intervals) * l.settings.Interval
			if in > whole-l.settings.Interval/10 || in < whole-l.settings.Interval/5-time.Microsecond {
				t.Errorf("%d intervals with jitter %v: due in %v", intervals, jitter, in)
			}
		}
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "short", "\xff", strings.Repeat("x", 2000), strings.Repeat("x", 2001), strings.Repeat("é", 1001), "x" + strings.Repeat("é", 1001),
		strings.Repeat("\xff", 5000),
	} {
		got := shorten(text)
		if !utf8.ValidString(got) || len(got) > 2003 {
			t.Errorf("%.20q became %.20q of %d bytes", text, got, len(got))
		}
		if len(text) <= 2000 && utf8.ValidString(text) && got != text {
			t.Errorf("%.20q was changed to %.20q", text, got)
		}
	}
}

func TestParseMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Message{
		`{"operation":"batches/a","effect":"publish"}`:                                        {Operation: "batches/a", Effect: "publish"},
		`{"operation":" projects/p/locations/us/Batches/a/ ","effect":"publish","attempt":3}`: {Operation: "batches/a", Effect: "publish", Attempt: 3},
	} {
		if got, err := ParseMessage([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "{}", "[]", "null", `{"operation":"batches/a"}`, `{"effect":"publish"}`, `{"operation":7,"effect":"x"}`} {
		if _, err := ParseMessage([]byte(text)); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v, want ErrMessage", text, err)
		}
	}
}

// TestSettingsSayEverything: every problem is said at once.
func TestSettingsSayEverything(t *testing.T) {
	t.Parallel()
	if err := DefaultSettings().Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	allowed, err := operation.ParseTransitions("SUCCEEDED:FAILED")
	if err != nil {
		t.Fatal(err)
	}
	bad := Settings{
		MaxAttempts: 0, RetryFor: -time.Second, Transitions: allowed,
		Rules: []Rule{
			{Name: "Bad Name", On: []operation.State{operation.Succeeded}},
			{Name: "twice", On: []operation.State{operation.Pending, operation.Pending}},
			{Name: "twice", On: []operation.State{"NO_STATE"}},
			{Name: "never"},
			{Name: "joined", On: []operation.State{operation.Succeeded, operation.Failed}},
			{Name: "page@stuck-1", Alerts: []Alert{AlertStuck, AlertStuck, "LATE"}},
			{Name: "kind", Alerts: []Alert{AlertMissing, AlertUnbound}, JobKinds: []string{"*"}},
			{Name: "glob", On: []operation.State{operation.Failed}, JobKinds: []string{"[a"}},
		},
	}
	_, err = New(nil, bad, Options{})
	if err == nil {
		t.Fatal("these settings were taken")
	}
	for _, want := range []string{
		"grace", "interval", "stuck-after", "alert-every", "retention", "claim TTL", "max attempts", "retry-for", `"Bad Name": its name must be`,
		"its name is used twice", "lists PENDING twice", `"NO_STATE" is not a state and not an alert`, "lists no state or alert",
		`"page@stuck-1": its name must be`, "lists STUCK twice", `"LATE" is not an alert; the alerts are [STUCK MISSING DISABLED UNBOUND]`,
		`"kind": UNBOUND is about no operation`, "from SUCCEEDED to FAILED", `jobKinds: "[a" is not a pattern`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

func TestRuleOf(t *testing.T) {
	t.Parallel()
	for effect, want := range map[string]string{
		"": "", "page": "page", "page@stuck-1": "page", "publish@n@ce": "publish", "@": "", runOf("page", "missing-12"): "page",
	} {
		if got := RuleOf(effect); got != want {
			t.Errorf("%q is a run of %q, want %q", effect, got, want)
		}
	}
}

// TestSubjectKey: a message about a subject finds its documents again, whatever its id, and no operation's [K1].
func TestSubjectKey(t *testing.T) {
	t.Parallel()
	for subject, want := range map[operation.Key]operation.Key{
		"webhooks/abc-123":         "webhooks/abc-123",
		"intents/run 17":           "intents/run 17",
		"intents/batches/abc":      "intents/batches%2Fabc",
		"intents/c ":               "intents/c%20",
		"intents/a\x00\xff/\u2028": "intents/a%00%FF%2F%E2%80%A8",
	} {
		got, err := subjectKey(subject)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", subject, got, err, want)
		}
		text, err := json.Marshal(Message{Operation: got, Effect: "page@unbound-1", Attempt: 1})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := ParseMessage(text); err != nil || m.Operation != got {
			t.Errorf("%q: its message is read as one about %q, %v", subject, m.Operation, err)
		}
	}
	for _, subject := range []operation.Key{
		"", "webhooks", "webhooks/", "/abc", "batches/abc", " webhooks/abc", operation.Key("intents/" + strings.Repeat("x", 2000)),
	} {
		if got, err := subjectKey(subject); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.40q: %q, %v, want ErrInvalid", subject, got, err)
		}
	}
}
