package batches_test

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/operation"
)

const piece = 8 << 20

// long is a text no two near parts of which are the same.
var long = sync.OnceValue(func() string {
	var b strings.Builder
	for i := 0; b.Len() < 3*piece; i++ {
		b.WriteString(strconv.Itoa(i) + " ")
	}
	return b.String()
})

// text is a content of n bytes.
func text(n int) string { return long()[:n] }

// normal are requests as they are compared with the SDK's: bodies as JSON, and without what only one of
// them says. The SDK repeats the headers of the start in every request, and does not know the length.
func normal(all []sent) []sent {
	all = slices.Clone(all)
	for i := range all {
		all[i].Headers = maps.Clone(all[i].Headers)
		delete(all[i].Headers, "X-Goog-Upload-Header-Content-Length")
		if i > 0 {
			delete(all[i].Headers, "X-Goog-Upload-Protocol")
			delete(all[i].Headers, "X-Goog-Upload-Header-Content-Type")
		}
		all[i].Body = sorted(all[i].Body)
	}
	return all
}

// TestUpload: what the SDK would send, and a file of the same size at Gemini.
func TestUpload(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, size := range []int{1, piece + 5, 2*piece + 1} {
		content := text(size)
		file, err := w.client.Upload(t.Context(), "reviews", int64(size), strings.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		ours := w.requests()
		if got := ours[0].Headers["X-Goog-Upload-Header-Content-Length"]; got != strconv.Itoa(size) {
			t.Errorf("announced %s bytes of %d", got, size)
		}
		_, err = w.sdk.Files.Upload(t.Context(), strings.NewReader(content),
			&genai.UploadFileConfig{MIMEType: "application/jsonl", DisplayName: "reviews"})
		if diff := cmp.Diff(normal(w.requests()), normal(ours)); err != nil || diff != "" {
			t.Errorf("%d bytes: %v, -SDK +ours\n%.2000s", size, err, diff)
		}
		got, err := w.sdk.Files.Get(t.Context(), file.Name, nil)
		if err != nil || *got.SizeBytes != int64(size) || file.Size != int64(size) ||
			!operation.Instant(got.ExpirationTime).Equal(file.ExpiresAt) || got.MIMEType != "application/jsonl" ||
			got.DisplayName != "reviews" {
			t.Errorf("%d bytes: %+v is at Gemini %+v, %v", size, file, got, err)
		}
		w.requests()
	}
}

// TestUploadPieces: the content arrives as it is, in pieces of about 8 MiB that are multiples of what
// Gemini says.
func TestUploadPieces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size        int
		granularity string
		asked       []string
	}{
		{0, "262144", []string{"upload, finalize 0+0"}},
		{5, "262144", []string{"upload, finalize 0+5"}},
		{piece, "262144", []string{"upload, finalize 0+8388608"}},
		{piece + 1, "262144", []string{"upload 0+8388608", "upload, finalize 8388608+1"}},
		{2 * piece, "", []string{"upload 0+8388608", "upload, finalize 8388608+8388608"}},
		{piece + 1, "many", []string{"upload 0+8388608", "upload, finalize 8388608+1"}},
		{piece + 1, "-1", []string{"upload 0+8388608", "upload, finalize 8388608+1"}},
		{piece, "3000000", []string{"upload 0+6000000", "upload, finalize 6000000+2388608"}},
		{piece + 2, "8388609", []string{"upload 0+8388609", "upload, finalize 8388609+1"}},
	} {
		f := &fake{granularity: c.granularity}
		content := text(c.size)
		got, err := f.client(t).Upload(t.Context(), "", int64(c.size),
			iotest.DataErrReader(iotest.HalfReader(strings.NewReader(content))))
		want := batches.File{
			Name: "files/a-1", Size: int64(c.size), ExpiresAt: time.Date(2026, 1, 24, 12, 0, 0, 500000000, time.UTC),
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" || f.content.String() != content {
			t.Errorf("%d bytes: %d arrived, %v, -want +got\n%s", c.size, f.content.Len(), err, diff)
		}
		if diff := cmp.Diff(c.asked, f.asked); diff != "" {
			t.Errorf("%d bytes in %s: -want +got\n%s", c.size, c.granularity, diff)
		}
	}
}

// TestUploadContent: a content of another size is not made a file, nor one that cannot be read.
func TestUploadContent(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk broke")
	for name, c := range map[string]struct {
		size    int64
		content io.Reader
		want    error
		says    string
	}{
		"too short":           {10, strings.NewReader(text(9)), io.ErrUnexpectedEOF, "behind byte 0"},
		"empty":               {10, strings.NewReader(""), io.ErrUnexpectedEOF, "behind byte 0"},
		"short behind pieces": {piece + 10, strings.NewReader(text(piece)), io.ErrUnexpectedEOF, "behind byte 8388608"},
		"too long":            {10, strings.NewReader(text(11)), nil, "goes on behind its size"},
		"not empty":           {0, strings.NewReader("x"), nil, "goes on behind its size"},
		"broken":              {10, iotest.ErrReader(broken), broken, "behind byte 0"},
		"broken at the end":   {3, io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)), broken, "the end"},
		"negative":            {-1, strings.NewReader(""), nil, "-1 bytes"},
	} {
		f := &fake{}
		file, err := f.client(t).Upload(t.Context(), "", c.size, c.content)
		if err == nil || file != (batches.File{}) || f.final || c.want != nil && !errors.Is(err, c.want) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, final %v, %v, want %q", name, file, f.final, err, c.says)
		}
	}
}

// TestUploadAnswer: an answer that does not name the file, whole, is an error.
func TestUploadAnswer(t *testing.T) {
	t.Parallel()
	for file, says := range map[string]string{
		`{}`: `names ""`, `{"name":"batches/a"}`: "which is no file", `{"name":"files/a?b"}`: "which is no file",
		`{"name":"files/a","sizeBytes":"2"}`: `has "2" bytes`, `{"name":"files/a","sizeBytes":2}`: `has "2" bytes`,
		`{"name":"` + apiKey + `"}`: "[API key]", `[]`: "cannot unmarshal",
		`{"name":"files/a","sizeBytes":"` + apiKey + `"}`: "bytes",
	} {
		got, err := (&fake{file: file}).client(t).Upload(t.Context(), "", 1, strings.NewReader("x"))
		if err == nil || got != (batches.File{}) || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), apiKey) {
			t.Errorf("%s: %+v, %v, want %q", file, got, err, says)
		}
	}
	for _, file := range []string{`{"name":"files/a"}`, `{"name":"files/a","sizeBytes":1,"expirationTime":"soon"}`} {
		got, err := (&fake{file: file}).client(t).Upload(t.Context(), "", 1, strings.NewReader("x"))
		if want := (batches.File{Name: "files/a", Size: 1}); err != nil || got != want {
			t.Errorf("%s: %+v, %v", file, got, err)
		}
	}
	f := &fake{granularity: "100000000"}
	if _, err := f.client(t).Upload(t.Context(), "", 1, strings.NewReader("x")); err == nil || len(f.asked) > 0 {
		t.Errorf("pieces of 100 MB: %v", err)
	}
}

// TestUploadRefused: a start that is refused, and a session at another host.
func TestUploadRefused(t *testing.T) {
	t.Parallel()
	_, err := serve(t, says(429, "{}")).Upload(t.Context(), "", 1, strings.NewReader("x"))
	if answer, ok := errors.AsType[*api.Error](err); !ok || answer.Status != 429 {
		t.Errorf("%v", err)
	}
	_, err = serve(t, elsewhere).Upload(t.Context(), "", 1, strings.NewReader("x"))
	if err == nil || !strings.Contains(err.Error(), "not at the base URL's host") {
		t.Errorf("%v", err)
	}
}
