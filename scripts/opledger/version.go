package main

import (
	"runtime/debug"
	"strings"
)

// versionText is what --version prints behind the program's name: the module's version, and where the build knows it the commit that
// was built, with its time, and whether files were changed since. A program that was built without that says so.
func versionText(info *debug.BuildInfo, ok bool) string {
	if !ok || info.Main.Version == "" {
		return "of an unknown version"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	var commit []string
	if revision := settings["vcs.revision"]; revision != "" {
		commit = append(commit, "commit "+revision)
	}
	if at := settings["vcs.time"]; at != "" {
		commit = append(commit, at)
	}
	if settings["vcs.modified"] == "true" {
		commit = append(commit, "with changes")
	}
	if len(commit) == 0 {
		return info.Main.Version
	}
	return info.Main.Version + " (" + strings.Join(commit, ", ") + ")"
}
