package overview

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestJudgeRefused: refused deliveries need an operator where every end since the first was found by a
// look-up [W1]; a scanner's few, and those of strangers while Gemini's are accepted, do not.
func TestJudgeRefused(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	since := now.Add(-2 * time.Hour)
	end := func(key operation.Key, by operation.Source, after time.Duration) operation.Record {
		return operation.Record{Key: key, SettledBy: by, SettledAt: since.Add(after)}
	}
	found := end("batches/a", operation.Reconcile, time.Minute)
	for _, c := range []struct {
		about   string
		refused int
		ends    []operation.Record // newest first
		problem bool
	}{
		{"a look-up found the only end", 20, []operation.Record{found}, true},
		{"an end from before was delivered", 20, []operation.Record{
			found, end("batches/b", operation.Webhook, -time.Second),
		}, true},
		{"a canary signs with the same wrong secret", 20, []operation.Record{
			end("batches/"+operation.CanaryPrefix+"b", operation.Webhook, time.Minute), found,
		}, true},
		{"another end was delivered", 20, []operation.Record{found, end("batches/b", operation.Webhook, 0)}, false},
		{"nothing has ended since", 20, []operation.Record{end("batches/a", operation.Reconcile, -time.Second)}, false},
		{"nothing has ended", 20, nil, false},
		{"a scanner's few", fewRefused, []operation.Record{found}, false},
		{"one more", fewRefused + 1, []operation.Record{found}, true},
	} {
		o := Overview{At: now, Refused: Refused{Count: c.refused, Reason: "signature", Since: since, Last: now}}
		o.Refused.Unannounced = unannounced(c.ends, since)
		if o.judge(Options{Interval: 5 * time.Minute}); (len(o.Problems) == 1) != c.problem {
			t.Errorf("%s: %+v", c.about, o.Problems)
		}
	}
	o := Overview{At: now, Refused: Refused{Count: 20, Reason: "signature", Since: since, Unannounced: 3}}
	o.judge(Options{Interval: 5 * time.Minute})
	want := Problem{
		About: AboutWebhook,
		Words: "the webhook refused 20 requests in 2h00m and accepted none, and look-ups found every completion; of " +
			"the last, the signature does not fit: has the webhook Gemini's secret?",
		Command: "opledger webhook check", Playbook: "refused",
	}
	if len(o.Problems) != 1 || o.Problems[0] != want {
		t.Errorf("%+v, want %+v", o.Problems, want)
	}
}

// TestRefusedBefore: where a pass since the last refusal found that the webhook has Gemini's secret, the line says
// so, and what ends it. It still needs an operator: only an accepted delivery shows that the signatures fit.
func TestRefusedBefore(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		about, reason string
		fitsAt, last  time.Duration // after the first refusal; no time: no pass found so
		command       string
	}{
		{"it was set right", "signature", 2 * time.Minute, time.Minute, "opledger webhook ping"},
		{"one was refused since", "signature", time.Minute, time.Minute, "opledger webhook check"},
		{"no pass could compare", "signature", 0, time.Minute, "opledger webhook check"},
		{"another reason", "no-secret", 2 * time.Minute, time.Minute, "opledger webhook check"},
	} {
		o := Overview{At: since.Add(time.Hour)}
		o.Refused = Refused{Count: 4, Reason: c.reason, Since: since, Last: since.Add(c.last), Unannounced: 1}
		if c.fitsAt > 0 {
			o.LastPass = ledger.Pass{Began: o.At, Ended: o.At, Outcome: ledger.PassDone, SecretFitsAt: since.Add(c.fitsAt)}
		}
		o.judge(Options{Interval: 5 * time.Minute})
		right := c.command == "opledger webhook ping"
		if len(o.Problems) != 1 || o.Problems[0].Command != c.command ||
			strings.Contains(o.Problems[0].Words, "has found since then that the webhook has Gemini's secret") != right ||
			strings.Contains(o.Problems[0].Words, "?") && right {
			t.Errorf("%s: %+v", c.about, o.Problems)
		}
	}
}

// TestRefusedWithoutWebhook: where Gemini has no webhook, strangers alone were refused, unless the sender had a token
// or the right secret.
func TestRefusedWithoutWebhook(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	for reason, problem := range map[string]bool{
		"signature": false, "no-secret": false, "no-audience": true, "stale-timestamp": true, "unavailable": true,
	} {
		o := Overview{At: since.Add(time.Hour), LastPass: ledger.Pass{NoWebhook: true, Ended: since.Add(time.Hour)}}
		o.Refused = Refused{Count: 4, Reason: reason, Since: since, Last: since, Unannounced: 1}
		if o.judge(Options{Interval: 5 * time.Minute}); (len(o.Problems) > 0) != problem {
			t.Errorf("%s: %+v", reason, o.Problems)
		}
	}
}

// TestRefusedWhy: each reason for which a delivery is refused for long is said in words.
func TestRefusedWhy(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{
		"signature", "no-secret", "unavailable", "no-audience", "stale-timestamp", "old-token",
	} {
		if words := whyRefused[reason]; !strings.Contains(words, " ") || strings.Contains(words, reason+")") {
			t.Errorf("%s: %q", reason, words)
		}
	}
}
