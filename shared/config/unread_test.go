package config_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
)

// TestUnread: a variable that nothing reads is reported with what was probably meant, and without
// its value.
func TestUnread(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ set, want []string }{
		{nil, nil},
		{[]string{"OPLEDGER_GRACE=soon", "OPLEDGER_WEBHOOK_SECRET=x", "PORT=x", "HOME=/", "OPLEDGER=x",
			"OPLEDGERS_GRACE=x"}, nil},
		{[]string{"OPLEDGER_URL=u", "OPLEDGER_TOKEN=t", "OPLEDGER_REQUIRE_EMULATORS=1"}, nil}, // read elsewhere
		{[]string{"OPLEDGER_GRACEE="}, nil},                                                   // not set
		{[]string{"OPLEDGER_INTERVALL=topsecret", "OPLEDGER_GRACEE=topsecret"}, []string{
			"OPLEDGER_GRACEE: there is no such setting; did you mean OPLEDGER_GRACE?",
			"OPLEDGER_INTERVALL: there is no such setting; did you mean OPLEDGER_INTERVAL?",
		}},
		{[]string{"OPLEDGER_grace=topsecret", "OPLEDGER_TTL_CLAIM=topsecret", "OPLEDGER_=topsecret"}, []string{
			"OPLEDGER_: there is no such setting; unset it, or see the table in shared/config/README.md",
			"OPLEDGER_TTL_CLAIM: there is no such setting; unset it, or see the table in shared/config/README.md",
			"OPLEDGER_grace: there is no such setting; did you mean OPLEDGER_GRACE?",
		}},
	} {
		var got []string
		for _, problem := range diag.Split(config.Unread(c.set)) {
			got = append(got, problem.Error())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.set, got, c.want)
		}
	}
}

// TestEverySettingIsKnown: no variable that the code or a script reads, or that a README lists,
// is reported.
func TestEverySettingIsKnown(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	read := regexp.MustCompile("env:\"(OPLEDGER_[A-Z_]+)|Getenv\\(\"(OPLEDGER_[A-Z_]+)|^\\| " +
		"`(OPLEDGER_[A-Z_]+)`|\\$\\{?(OPLEDGER_[A-Z_]+)")
	names := map[string]bool{}
	if err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root {
			return fs.SkipDir // such as .git, and what a build keeps beside the source
		}
		if err != nil || entry.IsDir() {
			return err
		}
		ofShell := strings.HasPrefix(path, filepath.Join(root, "scripts")) && filepath.Ext(path) != ".go"
		if !ofShell && filepath.Ext(path) != ".go" && entry.Name() != "README.md" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			for _, match := range read.FindAllStringSubmatch(line, -1) {
				for _, name := range match[1:] {
					names[name] = name != ""
				}
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if delete(names, ""); len(names) < 20 {
		t.Errorf("only %v are read", names)
	}
	for name := range names {
		if err := config.Unread([]string{name + "=x"}); err != nil {
			t.Error(err)
		}
	}
}
