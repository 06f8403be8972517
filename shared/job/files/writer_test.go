package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/storage"
)

// TestWriter: lines become one object, which is there once it is closed; without a line there is none.
func TestWriter(t *testing.T) {
	t.Parallel()
	s := folder(t)
	none := files.NewWriter(t.Context(), s, "none")
	if object, ok, err := none.Close(); ok || err != nil || object != (job.Object{}) {
		t.Errorf("without a line: %+v, %v", object, err)
	}
	w := files.NewWriter(t.Context(), s, "two")
	err := errors.Join(w.Copy([]byte("a request")),
		w.Line(files.Line{Key: "k", Response: json.RawMessage("{}"), Outcome: job.OutcomeDone}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(t.Context(), "two"); !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("before the end: %v", err)
	}
	object, ok, err := w.Close()
	want := "a request\n" + `{"key":"k","response":{},"outcome":"done","attempts":0}` + "\n"
	if !ok || err != nil || object.Size != int64(len(want)) || w.Lines != 2 || w.Bytes != object.Size {
		t.Errorf("%+v, %v, after %d lines with %d bytes", object, err, w.Lines, w.Bytes)
	}
	if got, err := s.Stat(t.Context(), "two"); err != nil || job.Object(got) != object {
		t.Errorf("it is %+v, %v", got, err)
	}
	if err := w.Abort(); err != nil {
		t.Errorf("aborting what is closed: %v", err)
	}
}

// TestWriterAborted: what is given up leaves no object.
func TestWriterAborted(t *testing.T) {
	t.Parallel()
	s := folder(t)
	w := files.NewWriter(t.Context(), s, "half")
	for range 1000 { // more than is buffered
		if err := w.Copy([]byte(strings.Repeat("x", 1000))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(t.Context(), "half"); !errors.Is(err, storage.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

// fullStorage refuses every object before it has read it.
type fullStorage struct{ storage.Storage }

var errFull = errors.New("no space is left")

func (fullStorage) Create(context.Context, string, io.Reader) (storage.Object, error) {
	return storage.Object{}, errFull
}

// TestWriterRefused: a storage that takes no more ends the writing with its error, and blocks nothing.
func TestWriterRefused(t *testing.T) {
	t.Parallel()
	w := files.NewWriter(t.Context(), fullStorage{folder(t)}, "full")
	var err error
	for range 1000 {
		if err = w.Copy([]byte(strings.Repeat("x", 1000))); err != nil {
			break
		}
	}
	if !errors.Is(err, errFull) {
		t.Errorf("writing: %v", err)
	}
	short := files.NewWriter(t.Context(), fullStorage{folder(t)}, "full")
	if err := short.Copy([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := short.Close(); ok || !errors.Is(err, errFull) || !strings.Contains(err.Error(), "storing full") {
		t.Errorf("closing: %v", err)
	}
	refused := files.NewWriter(t.Context(), fullStorage{folder(t)}, "full")
	if err := errors.Join(refused.Copy([]byte("x")), refused.Abort()); !errors.Is(err, errFull) {
		t.Errorf("aborting: %v", err)
	}
}
