package storage_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/storage"
)

// TestCreateAnswers: an object of which the answer was lost is its call's own; a refusal makes nothing.
func TestCreateAnswers(t *testing.T) {
	t.Parallel()
	small, large := "small", strings.Repeat("large ", 100_000) // one request; two chunks and a last one
	for name, c := range map[string]struct {
		content string
		fault   func(*storagesim.Sim)
		says    string // empty: it is created
	}{
		"the answer never comes": {small, func(s *storagesim.Sim) { s.Lose(storagesim.Begin, 0) }, ""},
		"the answer is a 503":    {small, func(s *storagesim.Sim) { s.Lose(storagesim.Begin, 503) }, ""},
		"the answer is a 412":    {small, func(s *storagesim.Sim) { s.Lose(storagesim.Begin, 412) }, ""},
		"the answer is a 403":    {small, func(s *storagesim.Sim) { s.Lose(storagesim.Begin, 403) }, ""},
		"the last answer never comes": {large, func(s *storagesim.Sim) {
			s.Lose(storagesim.Last, 0)
			s.Deny("storage.objects.delete")
		}, ""},
		"the last answer is a 503": {large, func(s *storagesim.Sim) { s.Lose(storagesim.Last, 503) }, ""},
		"a chunk's answer is lost": {large, func(s *storagesim.Sim) { s.Lose(storagesim.Chunk, 503) }, ""},
		"refused": {small, func(s *storagesim.Sim) { s.Fail(storagesim.Begin, 503, "") },
			"writing gs://jobs/nightly/a: Cloud Storage answered 503"},
		"forbidden": {large, func(s *storagesim.Sim) { s.Deny("storage.objects.create") },
			"the account needs roles/storage.objectUser"},
		"damaged": {large, func(s *storagesim.Sim) { s.Damage() }, "answered 400"},
		"lost, and cannot be queried": {small, func(s *storagesim.Sim) {
			s.Lose(storagesim.Begin, 0)
			s.Fail(storagesim.Get, 500, "")
		}, "reading gs://jobs/nightly/a: Cloud Storage answered 500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newBucket(t, storagesim.Config{})
			c.fault(w.sim)
			_, err := w.Create(t.Context(), "a", strings.NewReader(c.content))
			if c.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				w.holds("a", c.content)
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, storage.ErrExists) {
				t.Errorf("%v, want it to say %s", err, c.says)
			}
			if text := err.Error(); strings.Contains(text, "secret-of-") || strings.Contains(text, "/upload/storage") {
				t.Errorf("the upload can be continued with %s", text)
			}
		})
	}
}

// TestCreatedByAnother: of an object that another call made meanwhile, whatever its bytes, the call says
// that it exists.
func TestCreatedByAnother(t *testing.T) {
	t.Parallel()
	for _, denied := range []string{"", "storage.objects.delete"} { // then the answer is 403, not 412
		w := newBucket(t, storagesim.Config{})
		content := strings.Repeat("the same bytes ", 50_000)
		w.sim.Deny(denied)
		w.sim.Before(storagesim.Last, func() { w.sim.Put("jobs", "nightly/a", content, nil) })
		if _, err := w.Create(t.Context(), "a", strings.NewReader(content)); !errors.Is(err, storage.ErrExists) {
			t.Errorf("%q denied: %v", denied, err)
		}
	}
}

// TestBucketRefuses: an answer that refuses is an error with the object and the status, and an AnswerError.
func TestBucketRefuses(t *testing.T) {
	t.Parallel()
	w := newBucket(t, storagesim.Config{})
	w.create("a", "x")
	for point, call := range map[storagesim.Point]func() error{
		storagesim.Get: func() error {
			_, err := w.Stat(t.Context(), "a")
			return err
		},
		storagesim.Download: func() error {
			_, err := w.read("a", 0, -1)
			return err
		},
		storagesim.Delete: func() error { return w.Delete(t.Context(), "a") },
		storagesim.List: func() (err error) {
			for _, err = range w.Names(t.Context(), "") {
			}
			return err
		},
		storagesim.Begin: func() error {
			_, err := w.Create(t.Context(), "b", strings.NewReader("x"))
			return err
		},
	} {
		w.sim.Fail(point, 429, "17")
		err := call()
		if answer, ok := errors.AsType[*storage.AnswerError](err); !ok || answer.Status != 429 || !answer.Temporary() ||
			answer.RetryAfter != "17" || !strings.Contains(err.Error(), "gs://jobs/nightly/") {
			t.Errorf("%s: %+v", point, err)
		}
		w.sim.Fail(point, 403, "")
		if err := call(); err == nil || !strings.Contains(err.Error(), "the account needs roles/storage.objectUser") {
			t.Errorf("%s: %v", point, err)
		}
	}
	w.sim.Lose(storagesim.Delete, 0)
	if err := w.Delete(t.Context(), "a"); err == nil {
		t.Error("a deletion whose answer was lost is known")
	}
	if err := w.Delete(t.Context(), "a"); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestBucketCheck: a bucket that is not there is known, and what crashes left is deleted a day later.
func TestBucketCheck(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	w := newBucket(t, storagesim.Config{Now: func() time.Time { return began }})
	w.sim.Put("jobs", "nightly/.unfinished/x-1-0", "left", nil)
	w.sim.Put("jobs", "nightly/not ours", "left", nil)
	w.create("a", "x")
	w.lists("", "a")
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{24 * time.Hour, 1}, {24*time.Hour + time.Second, 0}} {
		storage.SetClock(w.Storage, func() time.Time { return began.Add(c.after) })
		if err := w.Check(t.Context()); err != nil {
			t.Error(err)
		}
		if n := w.unfinished(); n != c.left {
			t.Errorf("%s later %d are left", c.after, n)
		}
	}
	w.holds("a", "x")
	w.sim.Deny("storage.objects.list")
	if err := w.Check(t.Context()); err != nil {
		t.Errorf("it may store, and not list: %v", err)
	}
	if err := opened(t, "gs://another", w.sim.Addr()).Check(t.Context()); !errors.Is(err, storage.ErrNoBucket) {
		t.Error(err)
	}
	if err := opened(t, "gs://jobs", "127.0.0.1:1").Check(t.Context()); err == nil {
		t.Error("what cannot be reached can store")
	}
}

// TestContentTypes: a browser shows what an object is.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	w := newBucket(t, storagesim.Config{})
	for name, want := range map[string]string{
		"a.jsonl": "application/x-ndjson", "a.json": "application/json", "a": "application/octet-stream",
	} {
		source := w.create(name, "{}")
		if _, err := w.Compose(t.Context(), "b/"+name, []storage.Object{source}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{name, "b/" + name} {
			if got := w.sim.Object("jobs", "nightly/"+name).ContentType; got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	}
}
