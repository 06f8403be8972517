// Package generated keeps generated documents current: a test compares them, and writes them again
// with -update.
package generated

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated part of a document again")

// File compares a file, a path, with want. The failure names command, which is run at the root. With
// -update the file is written instead.
func File(t *testing.T, file, want, command string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != want {
		t.Errorf("%s is not current (%v); write it again with: %s", file, err, command)
	}
}

// mark is the line behind which a document is generated. It names the command that writes it again.
const mark = "<!-- generated: "

// Rest compares all that stands behind the mark in file, a path, with want. The failure names the
// command in the mark, which is run at the root. With -update the file is written instead.
func Rest(t *testing.T, file, want string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(content), "\n"+mark)
	command, rest, closed := strings.Cut(rest, " -->\n")
	if !found || !closed {
		t.Fatalf("%s has no line that begins with %q and ends with -->", file, mark)
	}
	want = "\n" + strings.TrimSpace(want) + "\n"
	switch {
	case rest == want:
	case *update:
		if err := os.WriteFile(file, []byte(head+"\n"+mark+command+" -->\n"+want), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not current; write it again with: %s", file, command)
	}
}
