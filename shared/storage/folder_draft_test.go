package storage_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/storage"
)

func (w *world) draft(content string) *storage.Draft {
	w.t.Helper()
	d, err := storage.NewDraft(w.Storage)
	if err == nil {
		_, err = io.WriteString(d, content)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// TestDraft: a draft is no object before its Commit, replaces nothing, and leaves nothing but the object.
func TestDraft(t *testing.T) {
	t.Parallel()
	w := newFolder(t)
	content := strings.Repeat("draft", 100_000)
	d := w.draft(content)
	if w.lists(""); w.unfinished() != 1 {
		t.Errorf("%d are unfinished", w.unfinished())
	}
	if got, err := d.Commit(t.Context(), "a/b"); err != nil || got != objectOf("a/b", content) {
		t.Errorf("%+v, %v", got, err)
	}
	second := w.draft("another")
	if _, err := second.Commit(t.Context(), "a/b"); !errors.Is(err, storage.ErrExists) {
		t.Errorf("%v", err)
	}
	third := w.draft("of no use")
	for _, d := range []*storage.Draft{d, second, third} {
		if err := d.Discard(); err != nil {
			t.Error(err)
		}
	}
	w.lists("", "a/b")
	w.holds("a/b", content)
	if n := w.unfinished(); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// TestDraftBreaks: what the file system refuses, and a name that is none, make no object.
func TestDraftBreaks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks func(storage.Storage)
		object string
		err    error
	}{
		"the disk is full": {
			func(s storage.Storage) { storage.BreakFiles(s, 5, syscall.ENOSPC) }, "a", syscall.ENOSPC,
		},
		"the disk cannot sync": {
			func(s storage.Storage) { storage.BreakFiles(s, 1<<20, syscall.EIO) }, "a", syscall.EIO,
		},
		"there are no hard links": {
			func(s storage.Storage) { storage.RefuseLinks(s, syscall.EPERM) }, "a", syscall.EPERM,
		},
		"the name leads elsewhere": {func(storage.Storage) {}, "../a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFolder(t)
			broken := opened(t, w.folder, "")
			c.breaks(broken)
			d, err := storage.NewDraft(broken)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = io.WriteString(d, "a draft"); err == nil {
				_, err = d.Commit(t.Context(), c.object)
			}
			if err == nil || c.err != nil && !errors.Is(err, c.err) {
				t.Error(err)
			}
			if err := d.Discard(); err != nil {
				t.Error(err)
			}
			if w.lists(""); w.unfinished() != 0 {
				t.Errorf("%d are left", w.unfinished())
			}
		})
	}
}

// TestDraftEnds: the end of the context ends a draft.
func TestDraftEnds(t *testing.T) {
	t.Parallel()
	w := newFolder(t)
	d := w.draft("a draft")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Commit(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if w.lists(""); d.Discard() != nil {
		t.Error("it is not discarded")
	}
}

// TestDraftNowhere: a bucket has no drafts, and a folder that cannot be made has none.
func TestDraftNowhere(t *testing.T) {
	t.Parallel()
	if d, err := storage.NewDraft(newBucket(t, storagesim.Config{}).Storage); d != nil || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	w := newFolder(t)
	w.create("a", "x")
	_, err := storage.NewDraft(opened(t, w.folder+"/a/jobs", ""))
	if err == nil || !strings.Contains(err.Error(), "a/jobs") {
		t.Error(err)
	}
}
