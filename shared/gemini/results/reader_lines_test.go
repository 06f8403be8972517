package results_test

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

// TestCutDownload: a download without a length that is cut ends like a whole one. Cut within a line it
// is a broken download, never the end; of a line that is whole but for its end nothing is lost.
func TestCutDownload(t *testing.T) {
	t.Parallel()
	whole := `{"key":"a","response":"1"}` + "\n" + `{"key":"b","response":"2"}` + "\n"
	for cut := range len(whole) + 1 {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(connection, "HTTP/1.0 200 OK\r\n\r\n"+whole[:cut])
			_ = connection.Close()
		})
		got, err := read(client, operation.Result{OutputFile: file})
		line := strings.Count(whole[:cut+1-min(cut/len(whole), 1)], "\n")
		within := cut > 0 && whole[cut-1] != '\n' && cut != 26 && cut != 53
		if within != errors.Is(err, io.ErrUnexpectedEOF) || !within && err != nil || len(got) > line+1 {
			t.Errorf("cut at %d: %d items, %v", cut, len(got), err)
		}
	}
}

// TestLastLine: what ends in the middle of a line is a cut download, unless it has the length that was
// announced. Then the line is an item that cannot be used, and the end is the end.
func TestLastLine(t *testing.T) {
	t.Parallel()
	whole := `{"key":"a","response":1}` + "\n"
	large := `{"key":"b","response":"` + strings.Repeat("x", results.MaxItemBytes)
	for name, c := range map[string]struct{ last, want string }{
		"no JSON":   {`{"key":"b","resp`, `1 : error ` + odd + `it is not a JSON object"}`},
		"too large": {large, `1 b: error ` + odd + `it is larger than 32 MiB"}`},
	} {
		for _, announced := range []bool{true, false} {
			client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if announced {
					w.Header().Set("Content-Length", strconv.Itoa(len(whole+c.last)))
				} else if err := http.NewResponseController(w).Flush(); err != nil {
					t.Error(err)
				}
				_, _ = io.WriteString(w, whole+c.last)
			})
			got, err := read(client, operation.Result{OutputFile: file})
			want := []string{`0 a: response 1`, c.want}
			if !announced {
				want = want[:1]
			}
			if diff := cmp.Diff(want, show(got)); diff != "" || errors.Is(err, io.ErrUnexpectedEOF) == announced {
				t.Errorf("%s, announced %v: %v %.300s", name, announced, err, diff)
			}
		}
	}
}

// TestNotJSON: a line that is not JSON is an item all the same; the others are what they are.
func TestNotJSON(t *testing.T) {
	t.Parallel()
	client := serve(t, says("{\"key\":\"a\",\"resp\n<html>\n{\"key\":\"b\",\"response\":1}\n\xff\x00\n"))
	got, err := read(client, operation.Result{OutputFile: file})
	broken := odd + `it is not a JSON object"}`
	want := []string{
		"0 : error " + broken,
		"1 : error " + broken,
		"2 b: response 1",
		"3 : error " + broken,
	}
	if diff := cmp.Diff(want, show(got)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// TestLargeLine: a line that is too large is an item with an error, and the next line is read.
func TestLargeLine(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"key":"a","response":"`)
		chunk := strings.Repeat("x", 1<<20)
		for range 33 {
			_, _ = io.WriteString(w, chunk)
		}
		_, _ = io.WriteString(w, "\"}\n"+`{"key":"b","response":1}`)
	})
	got, err := read(client, operation.Result{OutputFile: file})
	want := []string{"0 a: error " + odd + `it is larger than 32 MiB"}`, "1 b: response 1"}
	if diff := cmp.Diff(want, show(got)); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}
