package gcloud

import (
	"strings"
	"testing"
)

// TestBackups: there is one daily backup schedule with the retention that was asked for, or none; the
// operator's weekly one is left as it is.
func TestBackups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		listed, days string
		want         string // the one change; empty: none
	}{
		"none is there":             {"", "7", "create --recurrence=daily --retention=7d"},
		"only a weekly one":         {"w-1 SUNDAY 604800s\n", "7", "create --recurrence=daily --retention=7d"},
		"it is there":               {"w-1 SUNDAY 8467200s\nd-1 daily 604800s\n", "7", ""},
		"it has another retention":  {"d-1 daily 604800s\n", "30", "update --backup-schedule=d-1 --retention=30d"},
		"none is wanted":            {"w-1 SUNDAY 604800s\nd-1 daily 604800s\n", "0", "delete --backup-schedule=d-1"},
		"none is wanted, nor there": {"", "0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world{{Pattern: `^gcloud firestore backups schedules list`, Out: c.listed}}
			r := bash(t, w, "", "-euc", `. scripts/firestore.sh; keep_backups my-project opledger "$0"`, c.days).want(t, 0)
			var changes []string
			for _, call := range r.calls {
				if !strings.Contains(call.Line, " schedules list ") {
					changes = append(changes, call.Line)
				}
			}
			if c.want == "" && len(changes) > 0 || c.want != "" && (len(changes) != 1 || !strings.Contains(changes[0], c.want)) {
				t.Errorf("%q, want %q alone", changes, c.want)
			}
		})
	}
	for _, days := range []string{"99", "-1", "7d", "100"} {
		if r := deploy(t, nil, "--backup-days="+days).want(t, 2); !strings.Contains(r.stderr, "--backup-days "+days) {
			t.Errorf("%s: %s", days, r.stderr)
		}
	}
}

// TestStorageOptions: the ledger is backed up for as long as was asked for, and recovery to a point in
// time is off unless it was; the repository of images keeps the newest ones, since each deployment adds
// four.
func TestStorageOptions(t *testing.T) {
	t.Parallel()
	asked := deploy(t, empty().withOnly(t), "--point-in-time-recovery", "--backup-days", "30", "--gemini-key-file",
		keyFile).want(t, 0)
	for _, c := range []struct {
		run            run
		days, recovery string
	}{
		{first(t), "7", "DISABLED"}, // which also switches off what an earlier run switched on
		{asked, "30", "ENABLED"},
	} {
		r := c.run
		patch := r.matching("updateMask=concurrencyMode,pointInTimeRecoveryEnablement")
		if len(patch) != 1 || !strings.Contains(patch[0].Line, `"POINT_IN_TIME_RECOVERY_`+c.recovery+`"`) {
			t.Errorf("%v, want it %s", patch, c.recovery)
		}
		if n := len(r.matching("backups schedules create", "--retention="+c.days+"d")); n != 1 {
			t.Errorf("%d backup schedules of %s days", n, c.days)
		}
		if n := len(r.matching("set-cleanup-policies opledger-functions --location=europe-west1 " +
			"--policy=infra/images.json --no-dry-run")); n != 1 {
			t.Errorf("the policies were set %d times", n)
		}
	}
}
