package terminal

import (
	"runtime/debug"
	"strings"
)

// Version says which build of the program this is.
func Version() string { return VersionOf(debug.ReadBuildInfo()) }

// VersionOf is the version of a build: the module's, which a build from a tagged commit has from its tag, and, if the
// build recorded them, the commit, its time, and whether files were changed since.
func VersionOf(info *debug.BuildInfo, ok bool) string {
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
