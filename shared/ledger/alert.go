package ledger

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An Alert is a condition that needs an operator. Where a rule lists it beside the states, it is
// planned as an effect, in the commit that finds the condition, so that neither a crash nor a lost
// answer loses it [R4].
type Alert string

// The alerts.
const (
	AlertStuck    Alert = "STUCK"    // pending for its StuckAfter since its submission
	AlertMissing  Alert = "MISSING"  // not found at Gemini for twelve intervals; it may be found again
	AlertDisabled Alert = "DISABLED" // the webhook delivers nothing: disabled, gone, or signed with an unknown secret
	AlertUnbound  Alert = "UNBOUND"  // an intent that no operation matched
	AlertDeadline Alert = "DEADLINE" // a job's deadline was reached before its batches had ended
)

// Alerts returns every alert.
func Alerts() []Alert {
	return []Alert{AlertStuck, AlertMissing, AlertDisabled, AlertUnbound, AlertDeadline}
}

// ofOperation reports whether the alert is about an operation, which has a job kind.
func (a Alert) ofOperation() bool { return a == AlertStuck || a == AlertMissing || a == AlertDeadline }

// kind is the alert's word in effect names, payloads and logs.
func (a Alert) kind() string { return strings.ToLower(string(a)) }

// A Notice is the alert's part of its effect's payload.
type Notice struct {
	Kind     string    `json:"kind"`               // the alert in lower case, such as "stuck"
	Since    time.Time `json:"since,omitzero"`     // when the condition began
	Attempts int       `json:"attempts,omitempty"` // how often the operation was looked up
	Detail   string    `json:"detail,omitempty"`
}

// runMark separates a rule's name from the name of one run of it. No rule's name contains it.
const runMark = "@"

// RuleOf returns the name of the rule of an effect: the part before '@'. The effects "page@stuck-1"
// and "page" are both of the rule page, and run by its handler.
func RuleOf(effect string) string {
	rule, _, _ := strings.Cut(effect, runMark)
	return rule
}

// runOf names one more run of a rule's effect, with its own document, idempotency key and claim.
func runOf(rule, run string) string { return rule + runMark + run }

// isAlertRun reports whether a run's name is an alert's, such as "stuck-1".
func isAlertRun(run string) bool {
	run = strings.ToLower(run)
	return slices.ContainsFunc(Alerts(), func(a Alert) bool { return strings.HasPrefix(run, a.kind()+"-") })
}

// listing returns the rules that list an alert.
func (l *protocol) listing(alert Alert, jobKind string) []Rule {
	return slices.DeleteFunc(slices.Clone(l.settings.Rules), func(rule Rule) bool {
		return !slices.Contains(rule.Alerts, alert) || !rule.matchesKind(jobKind)
	})
}

// planAlert plans the effects of an alert about rec, for the rules that list it. Their number is
// one higher than any that the record names, so that neither a new period nor another AlertEvery
// reuses a number. An effect that exists although the record does not name it belongs to a former
// record, and is not planned again [L3]. report is that on the job where rec is a job's; nil: it is read.
func (l *protocol) planAlert(
	ctx context.Context, rec operation.Record, alert Alert, notice Notice, report *JobReport, now time.Time,
) (_ plan, err error) {
	p := plan{record: rec, job: report}
	var names []string
	run := alert.kind() + "-" + strconv.Itoa(lastAlert(rec, alert)+1)
	for _, rule := range l.listing(alert, rec.JobKind) {
		names = append(names, runOf(rule.Name, run))
	}
	if len(names) == 0 {
		return p, nil
	}
	existing, err := l.effects(ctx, rec.Key, names)
	if err == nil && report == nil {
		p.job, err = l.jobReport(ctx, rec)
	}
	if err != nil {
		return plan{}, err
	}
	notice.Kind, notice.Attempts = alert.kind(), rec.LookUps
	for _, name := range names {
		if effect, there := existing[name]; there {
			p.record = p.record.WithEffect(name, effect.Status())
		} else if err := p.add(l, name, &notice, now); err != nil {
			return plan{}, err
		}
	}
	return p, nil
}

// lastAlert returns the highest number of an alert that the record names; 0 where it names none.
func lastAlert(rec operation.Record, alert Alert) int {
	last := 0
	for name := range rec.Effects {
		last = max(last, alertNumber(name, alert))
	}
	return last
}

// alertNumber returns the number of an alert of a kind by its effect's name; 0 of any other name.
func alertNumber(name string, alert Alert) int {
	_, run, _ := strings.Cut(name, runMark)
	text, _ := strings.CutPrefix(run, alert.kind()+"-")
	n, _ := strconv.Atoi(text) // 0 for what is no number
	return n
}

// effects returns those of the named effects that exist.
func (l *protocol) effects(ctx context.Context, key operation.Key, names []string) (map[string]Effect, error) {
	snapshot, err := l.store.Get(ctx, pathsOf(key, names)...)
	if err != nil {
		return nil, fmt.Errorf("reading the effects of %s: %w", key, err)
	}
	return readEffects(snapshot.Documents)
}

// pathsOf returns the paths of effects of an operation.
func pathsOf(key operation.Key, names []string) []Path {
	paths := make([]Path, len(names))
	for i, name := range names {
		paths[i] = EffectPath(key, name)
	}
	return paths
}
