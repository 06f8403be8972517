package files_test

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/storage"
)

// TestLines: the lines of several ranges are one sequence, whatever each object has around its range.
func TestLines(t *testing.T) {
	t.Parallel()
	s := folder(t)
	for name, content := range map[string]string{"a": "one\ntwo\nthree\n", "b": "four\r\nfive\n"} {
		if _, err := s.Create(t.Context(), name, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	sources := []job.Source{{Object: "a", Offset: 4, Length: 4}, {Object: "b", Length: 11}, {Object: "a", Length: 4}}
	var lines []string
	for line, err := range files.Lines(t.Context(), s, sources) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	if want := []string{"two", "four\r", "five", "one"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	for range files.Lines(t.Context(), s, sources) {
		break // what is open is closed: goleak, and the test's folder can be removed
	}
}

// TestLinesOfNoObject: an object that is gone, or shorter than its range, is an error, and the last.
func TestLinesOfNoObject(t *testing.T) {
	t.Parallel()
	s := folder(t)
	if _, err := s.Create(t.Context(), "short", strings.NewReader("one\n")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{"gone": storage.ErrNotExist, "short": io.ErrUnexpectedEOF} {
		var last error
		for _, err := range files.Lines(t.Context(), s, []job.Source{{Object: name, Length: 8}}) {
			if last != nil {
				t.Errorf("%s: there is more behind %v", name, last)
			}
			last = err
		}
		if !errors.Is(last, want) {
			t.Errorf("%s: %v, want %v", name, last, want)
		}
	}
}

// TestScanLongest: the longest line that may be is read, and a longer one is refused.
func TestScanLongest(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]error{job.MaxLineBytes: nil, job.MaxLineBytes + 1: bufio.ErrTooLong} {
		content := strings.NewReader(strings.Repeat("x", length) + "\nnext\n")
		var lengths []int
		var last error
		for line, err := range files.Scan(content) {
			if last = err; err == nil {
				lengths = append(lengths, len(line))
			}
		}
		if !errors.Is(last, want) || want == nil && !slices.Equal(lengths, []int{length, 4}) {
			t.Errorf("%d bytes: %v, %v", length, lengths, last)
		}
	}
}
