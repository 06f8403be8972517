package batches_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/api"
)

// TestUploadGoesOn: where an answer is lost, Gemini is asked how much arrived, and the rest is sent.
func TestUploadGoesOn(t *testing.T) {
	t.Parallel()
	const size = 2*piece + 5
	first, second, last := "upload 0+8388608", "upload 8388608+8388608", "upload, finalize 16777216+5"
	const query = "query +0"
	lost := fault{}
	for name, c := range map[string]struct {
		faults map[int]fault
		asked  []string
		took   time.Duration
	}{
		"all arrived":       {map[int]fault{2: {taken: -1}}, []string{first, second, query, last}, time.Second},
		"nothing arrived":   {map[int]fault{2: lost}, []string{first, second, query, second, last}, time.Second},
		"the first is lost": {map[int]fault{1: lost}, []string{first, query, first, second, last}, time.Second},
		"half, and a failure": {
			map[int]fault{2: {taken: 1 << 20, status: 503}}, []string{first, second, query, "upload 9437184+7340032", last},
			time.Second,
		},
		"later":             {map[int]fault{2: {status: 429}}, []string{first, second, query, second, last}, time.Second},
		"a redirect":        {map[int]fault{2: {status: 308}}, []string{first, second, query, second, last}, time.Second},
		"no upload status":  {map[int]fault{2: {taken: -1, status: 200}}, []string{first, second, query, last}, time.Second},
		"the file was made": {map[int]fault{3: {taken: -1, final: true}}, []string{first, second, last, query}, time.Second},
		"the end was not made": {
			map[int]fault{3: {taken: -1}}, []string{first, second, last, query, "upload, finalize 16777221+0"}, time.Second,
		},
		"lost twice": {
			map[int]fault{2: lost, 4: {taken: 1 << 20}},
			[]string{first, second, query, second, query, "upload 9437184+7340032", last}, 3 * time.Second,
		},
		"the query is lost, too": {
			map[int]fault{2: {taken: -1}, 3: lost, 4: {status: 500}}, []string{first, second, query, query, query, last},
			7 * time.Second,
		},
		"five times, and then another piece": {
			map[int]fault{1: lost, 2: lost, 3: lost, 4: lost, 5: lost, 8: lost},
			[]string{first, query, query, query, query, query, first, second, query, second, last}, 32 * time.Second,
		},
		"five times": {
			map[int]fault{2: lost, 3: lost, 4: lost, 5: lost, 6: lost},
			[]string{first, second, query, query, query, query, query, second, last}, 31 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fake{faults: c.faults}
				content, began := text(size), time.Now()
				file, err := f.client(t).Upload(t.Context(), "", size, strings.NewReader(content))
				if err != nil || file.Name == "" || f.content.String() != content || !f.final {
					t.Errorf("%+v, %d bytes arrived, %v", file, f.content.Len(), err)
				}
				if diff := cmp.Diff(c.asked, f.asked); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// TestUploadGivesUp: what is refused, and what Gemini contradicts, is not sent again; nor what is lost for
// the sixth time.
func TestUploadGivesUp(t *testing.T) {
	t.Parallel()
	const size = piece + 5
	first, last := "upload 0+8388608", "upload, finalize 8388608+5"
	const query = "query +0"
	always := map[int]fault{1: {}, 2: {}, 3: {}, 4: {}, 5: {}, 6: {}}
	for name, c := range map[string]struct {
		fake   *fake
		asked  []string
		status int // of the *api.Error; 0: none
		says   string
	}{
		"refused":             {&fake{faults: map[int]fault{1: {status: 400}}}, []string{first}, 400, "400"},
		"the last is refused": {&fake{faults: map[int]fault{2: {status: 403}}}, []string{first, last}, 403, "403"},
		"the query is refused": {
			&fake{faults: map[int]fault{1: {}, 2: {status: 404}}}, []string{first, query}, 404, "404",
		},
		"six times": {&fake{faults: always}, []string{first, query, query, query, query, query}, 0, errBroken.Error()},
		"fewer bytes than before": {
			&fake{faults: map[int]fault{2: {}}, received: func(n int) int { return n - 1 }}, []string{first, last, query}, 0,
			"it has 8388607",
		},
		"more bytes than were sent": {
			&fake{faults: map[int]fault{1: {taken: -1}}, received: func(n int) int { return n + 1 }}, []string{first, query}, 0,
			"it has 8388609",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, err := c.fake.client(t).Upload(t.Context(), "", size, strings.NewReader(text(size)))
				answer, answered := errors.AsType[*api.Error](err)
				if err == nil || !strings.Contains(err.Error(), c.says) || answered != (c.status != 0) ||
					answered && answer.Status != c.status || c.fake.final {
					t.Errorf("%v, want %q", err, c.says)
				}
				if diff := cmp.Diff(c.asked, c.fake.asked); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		})
	}
}

// TestUploadIsFinalEarly: an upload that ended before its last piece is no file of the content.
func TestUploadIsFinalEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{faults: map[int]fault{1: {taken: -1}}}
		f.then = func(number int) { f.final = number == 1 }
		_, err := f.client(t).Upload(t.Context(), "", piece+5, strings.NewReader(text(piece+5)))
		if err == nil || !strings.Contains(err.Error(), "final is true") {
			t.Errorf("%v", err)
		}
	})
}

// TestUploadEnds: the end of the context ends the waiting, and what follows a lost answer.
func TestUploadEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		f, began := &fake{faults: map[int]fault{1: {}}}, time.Now()
		_, err := f.client(t).Upload(ctx, "", 1, strings.NewReader("x"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 500*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{faults: map[int]fault{1: {}}, then: func(int) { cancel() }}
	_, err := f.client(t).Upload(ctx, "", 1, strings.NewReader("x"))
	if err == nil || len(f.asked) != 1 {
		t.Errorf("%v, asked %q", err, f.asked)
	}
}
