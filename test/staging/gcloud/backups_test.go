package gcloud

import (
	"strings"
	"testing"
)

// TestBackups: there is one daily backup schedule with the given retention, or none; the operator's
// weekly schedule is left alone.
func TestBackups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		listed  string
		options []string
		want    string // the one change; empty: none
	}{
		"none is there":     {"", nil, "create --recurrence=daily --retention=7d"},
		"only a weekly one": {"w-1 SUNDAY 604800s\n", nil, "create --recurrence=daily --retention=7d"},
		"it is there":       {"w-1 SUNDAY 8467200s\nd-1 daily 604800s\n", nil, ""},
		"it has another retention": {"d-1 daily 604800s\n", []string{"--backup-days=30"},
			"update --backup-schedule=d-1 --retention=30d"},
		"none is wanted": {"w-1 SUNDAY 604800s\nd-1 daily 604800s\n", []string{"--backup-days", "0"},
			"delete --backup-schedule=d-1"},
		"none is wanted, nor there": {"", []string{"--backup-days", "0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := append(world{{Pattern: `^gcloud firestore backups schedules list`, Out: c.listed}}, deployed(t)...)
			r := deploy(t, w, c.options...).want(t, 0)
			var changes []string
			for _, call := range r.matching("gcloud firestore backups schedules ") {
				if !strings.Contains(call.Line, " list ") {
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

// TestRecovery: point-in-time recovery is off by default; a later run without the option switches
// it off again.
func TestRecovery(t *testing.T) {
	t.Parallel()
	for want, options := range map[string][]string{"DISABLED": nil, "ENABLED": {"--point-in-time-recovery"}} {
		r := deploy(t, deployed(t), options...).want(t, 0)
		patch := r.matching("updateMask=concurrencyMode,pointInTimeRecoveryEnablement")
		if len(patch) != 1 || !strings.Contains(patch[0].Line, `"POINT_IN_TIME_RECOVERY_`+want+`"`) {
			t.Errorf("%v, want it %s", patch, want)
		}
	}
}

// TestImagesAreCleanedUp: each deployment adds four images; the repository keeps the newest ones.
func TestImagesAreCleanedUp(t *testing.T) {
	t.Parallel()
	r := deploy(t, deployed(t)).want(t, 0)
	if n := len(r.matching("set-cleanup-policies opledger-functions --location=europe-west1 --policy=infra/images.json " +
		"--no-dry-run")); n != 1 {
		t.Errorf("the policies were set %d times", n)
	}
}
