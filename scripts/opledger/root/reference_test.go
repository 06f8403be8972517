package root_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/commandtest"
)

// TestPageNamesCommands: README.md names every command in a row of a table, and none that there is not.
// TestHelp proves that each has help.
func TestPageNamesCommands(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(string(page), -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			command, _, _ := strings.Cut(name[1], " --")
			named[command] = true
		}
	}
	want := slices.Sorted(maps.Keys(commandtest.Leaves()))
	if got := slices.Sorted(maps.Keys(named)); !slices.Equal(got, want) {
		t.Errorf("the page names\n%q, and the commands are\n%q", got, want)
	}
}
