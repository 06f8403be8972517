package repository

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamplesInstall: only an index of Python packages that cannot be reached leaves examples out,
// in one line. All else that an installer says fails the gate.
func TestExamplesInstall(t *testing.T) {
	t.Parallel()
	const npm = "#!/bin/sh\n[ \"$1\" = ci ] || exit 1\n"
	const pip = "#!/bin/sh\nmkdir -p \"$3/bin\"\ncat >\"$3/bin/pip\" <<'END'\n#!/bin/sh\n" +
		"while [ \"$1\" != --log ]; do shift; done\n%\nEND\nchmod +x \"$3/bin/pip\"\n"
	for name, c := range map[string]struct {
		language, program, script string
		code                      int
		says                      string
	}{
		"npm installs": {"typescript", "npm", npm, 0, ""},
		"npm finds no registry": {
			"typescript", "npm", npm + "echo 'npm error code ENOTFOUND' >&2; exit 1", 1, "code ENOTFOUND",
		},
		"npm finds another lock file": {
			"typescript", "npm", npm + "echo 'npm error code EUSAGE' >&2; exit 1", 1, "code EUSAGE",
		},
		"pip installs": {"python", "python3", strings.Replace(pip, "%", "exit 0", 1), 0, ""},
		"pip finds no index": {
			"python", "python3",
			strings.Replace(pip, "%", `echo 'Could not fetch: connection error: no' >"$2"; echo no; exit 1`, 1),
			3, "NOT RUN: the Python examples with packages: ",
		},
		"pip finds no such version": {
			"python", "python3", strings.Replace(pip, "%", `: >"$2"; echo 'No matching version'; exit 1`, 1),
			1, "No matching version",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			for program, script := range map[string]string{"node": "#!/bin/sh\n", c.program: c.script} {
				if err := os.WriteFile(filepath.Join(bin, program), []byte(script), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "bash", ".ci/examples", c.language, filepath.Join(t.TempDir(), "to"))
			cmd.Dir, cmd.Env = root, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				code = exit.ExitCode()
			} else if err != nil {
				t.Fatal(err)
			}
			said := strings.TrimSpace(string(out))
			if code != c.code || !strings.Contains(said, c.says) ||
				code == 3 && strings.Contains(said, "\n") {
				t.Errorf("it ended with %d and said %s; want %d and %q", code, out, c.code, c.says)
			}
		})
	}
}
