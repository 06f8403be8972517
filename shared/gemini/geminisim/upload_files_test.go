package geminisim_test

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// TestFileExpires: after 48 h on the wire clock a file is unknown, also to a creation; a batch of before
// has its requests, and the name is free.
func TestFileExpires(t *testing.T) {
	t.Parallel()
	var passed atomic.Int64
	began := time.Now()
	sim, client, _ := serve(t, geminisim.Config{Now: func() time.Time { return began.Add(time.Duration(passed.Load())) }})
	job := ask(t, sim, client, "before", geminisim.StateSucceeded, asks(2)...)
	config := &genai.UploadFileConfig{MIMEType: "text/plain", Name: "files/mine"}
	if _, err := client.Files.Upload(t.Context(), strings.NewReader(asks(1)[0]), config); err != nil {
		t.Fatal(err)
	}
	for after, there := range map[time.Duration]bool{48*time.Hour - 1: true, 48 * time.Hour: false} {
		passed.Store(int64(after))
		_, err := client.Files.Get(t.Context(), "files/mine", nil)
		_, createErr := client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: "files/mine"}, nil)
		if there {
			if err != nil || createErr != nil {
				t.Errorf("after %v: %v, %v", after, err, createErr)
			}
			continue
		}
		wantAPIError(t, err, 403, "PERMISSION_DENIED")
		wantAPIError(t, createErr, 403, "PERMISSION_DENIED")
	}
	passed.Store(int64(48 * time.Hour))
	if lines := download(t, sim, job.Name); len(lines) != 2 || !strings.Contains(lines[1], "Result of review-2") {
		t.Errorf("%q", lines)
	}
	if _, err := client.Files.Upload(t.Context(), strings.NewReader("x"), config); err != nil {
		t.Errorf("its name is not free: %v", err)
	}
}

// TestDeleteFile: a deleted file is unknown, and gone from the disk unless a batch was created from it.
func TestDeleteFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	sim, client, _ := serve(t, geminisim.Config{Folder: folder})
	job := ask(t, sim, client, "job", geminisim.StateSucceeded, asks(2)...)
	unused := upload(t, client, "x")
	for _, name := range []string{sim.Batches()[0].InputFile, unused.Name} {
		if _, err := client.Files.Delete(t.Context(), name, nil); err != nil {
			t.Fatal(err)
		}
		_, err := client.Files.Get(t.Context(), name, nil)
		wantAPIError(t, err, 403, "PERMISSION_DENIED")
		_, err = client.Batches.Create(t.Context(), "m", &genai.BatchJobSource{FileName: name}, nil)
		wantAPIError(t, err, 403, "PERMISSION_DENIED")
		_, err = client.Files.Delete(t.Context(), name, nil)
		wantAPIError(t, err, 403, "PERMISSION_DENIED")
	}
	if lines := download(t, sim, job.Name); len(lines) != 2 {
		t.Errorf("%q", lines)
	}
	if files, err := filepath.Glob(filepath.Join(folder, "*")); err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
	_, err := client.Files.Delete(t.Context(), job.Dest.FileName, nil)
	wantAPIError(t, err, 400, "INVALID_ARGUMENT")
	if w := call(t, sim, "DELETE", "/v1beta/files/never", ""); w.Code != 403 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
