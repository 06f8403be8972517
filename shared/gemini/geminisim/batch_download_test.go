package geminisim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// TestCutResults: a download of an uploaded file's results that is cut ends in the middle of a line, also
// where requests have none, and its lines are those of the whole.
func TestCutResults(t *testing.T) {
	t.Parallel()
	faults := geminisim.Faults{MissingLines: 0.5, DoubledLines: 0.5, Shuffled: 0.5}
	whole, client, _ := serve(t, geminisim.Config{Seed: 7, Faults: faults})
	lines := map[string]bool{}
	for _, line := range download(t, whole, ask(t, whole, client, "job", geminisim.StateSucceeded, asks(30)...).Name) {
		lines[line] = true
	}
	faults.Cut = 1
	cut, client, _ := serve(t, geminisim.Config{Seed: 7, Faults: faults})
	job := ask(t, cut, client, "job", geminisim.StateSucceeded, asks(30)...)
	lengths := map[int]bool{}
	for range 20 {
		w := call(t, cut, "GET", "/v1beta/"+job.Dest.FileName+":download?alt=media", "")
		got := strings.Split(w.Body.String(), "\n")
		lengths[len(got)] = true
		last := got[len(got)-1]
		if last == "" || lines[last] || !w.Flushed {
			t.Errorf("it ends with %q, sent without a length: %v", last, w.Flushed)
		}
		for _, line := range got[:len(got)-1] {
			if !lines[line] {
				t.Errorf("the whole has no line %s", line)
			}
		}
	}
	if len(lengths) < 2 {
		t.Error("it is always cut at one place")
	}
}

// TestLostContent: where the requests cannot be read again, a download breaks off: it is no short result.
func TestLostContent(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	sim, client, _ := serve(t, geminisim.Config{Folder: folder})
	job := ask(t, sim, client, "job", geminisim.StateSucceeded, asks(3)...)
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	from := genai.NewDownloadURIFromFile(&genai.File{DownloadURI: job.Dest.FileName})
	if got, err := client.Files.Download(t.Context(), from, nil); err == nil {
		t.Errorf("%s", got)
	}
}
