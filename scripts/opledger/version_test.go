package main

import (
	"regexp"
	"runtime/debug"
	"testing"
)

// TestVersion: --version prints which build it is.
func TestVersion(t *testing.T) {
	t.Parallel()
	if s := cli(t, nil, "--version").want(t, exitDone); !regexp.MustCompile(`^opledger \S.*\n$`).MatchString(s.out) ||
		s.err != "" {
		t.Errorf("%q %q", s.out, s.err)
	}
	of := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	commit, at := debug.BuildSetting{Key: "vcs.revision", Value: "0123abc"}, debug.BuildSetting{Key: "vcs.time",
		Value: "2026-11-21T02:00:00Z"}
	for want, info := range map[string]*debug.BuildInfo{
		"of an unknown version": of(""),
		"(devel)":               of("(devel)", debug.BuildSetting{Key: "GOOS", Value: "linux"}),
		"v1.2.3":                of("v1.2.3"),
		"v1.2.3 (commit 0123abc, 2026-11-21T02:00:00Z)": of("v1.2.3", commit, at,
			debug.BuildSetting{Key: "vcs.modified", Value: "false"}),
		"(devel) (commit 0123abc, with changes)": of("(devel)", commit,
			debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
	} {
		if got := versionText(info, true); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := versionText(nil, false); got != "of an unknown version" {
		t.Error(got)
	}
}
