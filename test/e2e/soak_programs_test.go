package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// A program is one of the soak's, of a revision: `opledger`, or all the functions in one. It can be
// asked what it takes of its machine.
type program struct {
	revision, path string
	knowsNone      bool // that no token is wanted, by OPLEDGER_SERVE_TOKEN=none
}

// The packages of the soak's programs. The second is in the overlay alone.
const (
	serveRoom     = "scripts/opledger"
	functionsRoom = "deployed/functions"
)

// buildSoak builds a program of the source as it is and, unless history is missing, of an earlier
// revision, each into a folder of its own.
func buildSoak(room string) (all []program, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(binDir, "soak-"+filepath.Base(room))
	now, err := buildSoakProgram(root, filepath.Join(dir, "now"), room, map[string]string{})
	if err != nil {
		return nil, err
	}
	commit := earlierRevision(room)
	if commit == "" {
		return []program{{path: now, revision: "now", knowsNone: true}}, nil
	}
	replace, err := filesOf(root, filepath.Join(dir, "source"), commit)
	if err != nil {
		return nil, err
	}
	earlier, err := buildSoakProgram(root, filepath.Join(dir, commit), room, replace)
	knowsNone := false
	if err == nil && room == serveRoom {
		var help []byte
		help, err = exec.Command(earlier, "serve", "--help").Output()
		knowsNone = strings.Contains(string(help), "OPLEDGER_SERVE_TOKEN=none")
	}
	return []program{
		{path: now, revision: "now", knowsNone: true},
		{path: earlier, revision: commit[:7], knowsNone: knowsNone},
	}, err
}

// earlierRevision returns the last commit of a day before that of the source: what may have been
// deployed when the source is. A program refuses an SQLite file of another schema than its own. So
// `serve` is not older than the schema of the source. It is empty where git or its history is not here.
func earlierRevision(room string) string {
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", "../.."}, args...)...).Output()
		if err != nil {
			return "" // no git, or no repository
		}
		return strings.TrimSpace(string(out))
	}
	committed, err := time.Parse(time.RFC3339, git("log", "-1", "--format=%cI"))
	if err != nil {
		return ""
	}
	midnight := committed.UTC().Truncate(24 * time.Hour)
	commit := git("log", "-1", "--format=%H", "--before="+midnight.Format(time.RFC3339))
	if room != serveRoom || commit == "" {
		return commit
	}
	const file, constant = "shared/ledger/sqlite/sqlite.go", "const schemaVersion = "
	schema := func(commit string) string {
		_, after, _ := strings.Cut(git("show", commit+":"+file), constant)
		number, _, _ := strings.Cut(after, "\n")
		return number
	}
	if now := schema("HEAD"); schema(commit) != now {
		raised, _, _ := strings.Cut(git("log", "--format=%H", "-S"+constant+now, "--", ":/"+file), "\n")
		return raised
	}
	return commit
}

// filesOf puts the files of a commit in the place of those of the source. So they are built in the
// same folders, and what did not change is built once.
func filesOf(root, dir, commit string) (replace map[string]string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { // a test that is repeated finds it there
		return nil, err
	}
	archive := dir + ".tar"
	for _, command := range [][]string{
		{"git", "-C", root, "archive", "--output", archive, commit}, {"tar", "-xf", archive, "-C", dir},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("reading revision %s: %w: %s", commit, err, out)
		}
	}
	replace = map[string]string{}
	each := func(folder string, do func(path, relative string)) error {
		return filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			relative, err := filepath.Rel(folder, path)
			do(path, relative)
			return err
		})
	}
	for _, folder := range []string{"functions", "shared", "scripts"} {
		err = errors.Join(err, each(filepath.Join(root, folder), func(path, _ string) {
			if filepath.Ext(path) == ".go" {
				replace[path] = "" // gone, unless the next loop finds it
			}
		}))
	}
	return replace, errors.Join(err, each(dir, func(path, relative string) {
		replace[filepath.Join(root, relative)] = path
	}))
}

// buildSoakProgram builds a room into a folder, with these files in the place of others.
func buildSoakProgram(root, dir, room string, replace map[string]string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	source, list := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	replace[filepath.Join(root, functionsRoom, "main.go")] = source
	replace[filepath.Join(root, room, "soak.go")] = filepath.Join(root, "test/e2e/testdata/soak/soak.go")
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	err = errors.Join(err, os.WriteFile(source, mainOf(deployed...), 0o600), os.WriteFile(list, overlay, 0o600))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "program")
	if err := harness.Build("", module+room, path, append(asTested(), "-overlay", list)...); err != nil {
		return "", fmt.Errorf("building %s: %w", dir, err)
	}
	return path, nil
}
