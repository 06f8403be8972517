// Package repository tests the repository itself: that rules and citations agree, and that the gate
// runs tools at fixed versions.
package repository

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestToolsArePinned: the gate judges alike today and in a year, wherever it runs.
func TestToolsArePinned(t *testing.T) {
	t.Parallel()
	gate, vulncheck, examples := read(t, ".ci/run"), read(t, ".ci/vulncheck"), read(t, ".ci/examples")
	for pattern, text := range map[string]string{
		`(?m)^staticcheck=\S+@v\d+\.\d+\.\d+$`:                gate,
		`(?m)^shellcheck=\d+\.\d+\.\d+ `:                      gate,
		`(?m)^mypy=\d+\.\d+\.\d+ `:                            examples,
		`(?m)^version=v\d+\.\d+\.\d+$`:                        vulncheck,
		`(?m)go install "\S+@\$version"$`:                     vulncheck,
		`(?m)apt-get install .*"shellcheck=\$shellcheck-\d+"`: gate,
	} {
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("nothing is like %s", pattern)
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^.*\bgo (?:run|install) .*@latest.*$`).FindAllString(gate+vulncheck, -1) {
		t.Errorf("a tool of no version: %s", line)
	}
}

// TestProviderIsPinned: Terraform takes one version of its provider. The lock file of a deployment
// can be kept beside it, and is the real registry's: only that one signs a list of what it serves,
// which the lock file has as zh hashes.
func TestProviderIsPinned(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`version = "(\d+\.\d+\.\d+)"`).FindStringSubmatch(read(t, "infra/versions.tf"))
	if pinned == nil {
		t.Fatal("infra/versions.tf does not name one version of the provider")
	}
	for line := range strings.Lines(read(t, ".gitignore")) {
		if strings.Contains(line, ".terraform.lock.hcl") {
			t.Error("the lock file is ignored, so neither git nor Cloud Build would carry it")
		}
	}
	lock, err := os.ReadFile(filepath.Join(root, "infra", ".terraform.lock.hcl"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(lock), `version     = "`+pinned[1]+`"`) || !strings.Contains(string(lock), `"zh:`) {
		t.Errorf("infra/.terraform.lock.hcl is not the registry's for version %s", pinned[1])
	}
}

// fakeGo stands for the go command: what it "installs" is a govulncheck that answers as the test says.
const fakeGo = `#!/bin/sh
cat >"$GOBIN/govulncheck" <<'END'
#!/bin/sh
case "$*" in
*-scan=package*) %PROBE% ;;
*) %SCAN% ;;
esac
END
chmod +x "$GOBIN/govulncheck"
`

// TestVulncheck: what is found fails, and so does a scan that does not work; a database that cannot be reached is said
// plainly, and passes.
func TestVulncheck(t *testing.T) {
	t.Parallel()
	const away = `echo 'govulncheck: fetching vulnerabilities: Get "https://example.com": no such host' >&2; exit 1`
	for name, c := range map[string]struct {
		probe, scan string
		ok          bool
		says        string
	}{
		"nothing is found":       {"exit 0", "echo 'No vulnerabilities found.'", true, "No vulnerabilities found."},
		"something is found":     {"exit 0", "echo 'Vulnerability #1'; exit 3", false, "Vulnerability #1"},
		"found by the probe too": {"exit 3", "echo 'Vulnerability #1'; exit 3", false, "Vulnerability #1"},
		"there is no database": {
			away, "echo scanned; exit 0", true, "NOT CHECKED: the vulnerability database cannot be reached",
		},
		"the code does not load": {
			"echo 'govulncheck: loading packages: no' >&2; exit 1", "echo broken; exit 1", false, "broken",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			script := strings.NewReplacer("%PROBE%", c.probe, "%SCAN%", c.scan).Replace(fakeGo)
			if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "bash", ".ci/vulncheck")
			cmd.Dir, cmd.Env = root, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.ok || !strings.Contains(string(out), c.says) {
				t.Errorf("%v, and it says %s; want %q", err, out, c.says)
			}
			if c.says != "scanned" && strings.Contains(string(out), "scanned") {
				t.Errorf("it scanned without a database: %s", out)
			}
		})
	}
}
