package root

import (
	"runtime/debug"
	"strings"
)

// versionText is what --version prints after the program's name: the module's version and, if the
// build recorded them, the commit, its time, and whether files were changed since.
func versionText(info *debug.BuildInfo, ok bool) string {
	if !ok || info.Main.Version == "" {
		return "(unknown)"
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
