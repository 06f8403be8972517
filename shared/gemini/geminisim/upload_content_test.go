package geminisim_test

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// A session is one upload without an SDK.
type session struct {
	t   *testing.T
	sim *geminisim.Sim
	url string
}

func startSession(t *testing.T, sim *geminisim.Sim) *session {
	t.Helper()
	s := &session{t, sim, "/upload/v1beta/files"}
	w := s.send("start", 0, strings.NewReader("{}"))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	s.url = w.Header().Get("X-Goog-Upload-URL")
	return s
}

func (s *session) send(command string, offset int, content io.Reader) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(s.t.Context(), "POST", s.url, content)
	for name, value := range map[string]string{
		"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": command,
		"X-Goog-Upload-Offset": strconv.Itoa(offset), "X-Goog-Api-Key": "key",
	} {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.sim.ServeHTTP(w, r)
	return w
}

// received is what a query says: the status, and how many bytes there are.
func (s *session) received() string {
	w := s.send("query", 0, nil)
	status := w.Header().Get("X-Goog-Upload-Status")
	if w.Code != 200 || w.Body.Len() != 0 && status != "final" {
		s.t.Errorf("a query is answered %d %s", w.Code, w.Body)
	}
	return status + " " + w.Header().Get("X-Goog-Upload-Size-Received")
}

// places are where content may be kept.
func places(t *testing.T) map[string]geminisim.Config {
	return map[string]geminisim.Config{"memory": {}, "folder": {Folder: t.TempDir()}}
}

const piece = 256 << 10

// TestUploadContent: what a session has comes from whole pieces alone, and a query says how much it is.
func TestUploadContent(t *testing.T) {
	t.Parallel()
	for place, cfg := range places(t) {
		cfg.MaxUpload = 5 * piece
		sim, _, _ := serve(t, cfg)
		s := startSession(t, sim)
		expect := func(what, want string) {
			t.Helper()
			if got := s.received(); got != want {
				t.Errorf("%s: after %s it is %s, want %s", place, what, got, want)
			}
		}
		expect("the start", "active 0")
		broken := io.MultiReader(strings.NewReader(strings.Repeat("x", 2*piece+5)), failing{errors.New("gone")})
		if w := s.send("upload", 0, broken); w.Code != 400 {
			t.Errorf("%s: a piece that breaks off is answered %d", place, w.Code)
		}
		expect("a piece that breaks off", fmt.Sprint("active ", 2*piece))
		for _, refused := range []struct {
			what, command   string
			offset, content int
		}{
			{"a piece that overlaps", "upload", piece, piece},
			{"a piece that leaves a gap", "upload", 3 * piece, piece},
			{"a piece of another size", "upload", 2 * piece, 1},
			{"a piece that is too long", "upload, finalize", 2 * piece, 3*piece + 1},
		} {
			content := strings.NewReader(strings.Repeat("y", refused.content))
			if w := s.send(refused.command, refused.offset, content); w.Code != 400 {
				t.Errorf("%s: %s is answered %d %s", place, refused.what, w.Code, w.Body)
			}
			expect(refused.what, fmt.Sprint("active ", 2*piece))
		}
		if w := s.send("upload, finalize", 2*piece, strings.NewReader("z")); w.Code != 200 {
			t.Errorf("%s: the last piece is answered %d %s", place, w.Code, w.Body)
		}
		expect("the last piece", fmt.Sprint("final ", 2*piece+1))
		if w := s.send("upload, finalize", 2*piece+1, strings.NewReader("z")); w.Code != 404 {
			t.Errorf("%s: a piece after the last is answered %d", place, w.Code)
		}
		if cfg.Folder == "" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(cfg.Folder, "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v", files, err)
		}
		if content, err := os.ReadFile(files[0]); err != nil ||
			string(content) != strings.Repeat("x", 2*piece)+"z" {
			t.Errorf("%d bytes, %v", len(content), err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestUploadLost: a piece whose answer is lost has arrived, and the upload goes on behind it.
func TestUploadLost(t *testing.T) {
	t.Parallel()
	sim, _, _ := serve(t, geminisim.Config{Faults: geminisim.Faults{UploadsLost: 1}})
	s := startSession(t, sim)
	if w := s.send("upload", 0, strings.NewReader(strings.Repeat("x", piece))); w.Code != 503 ||
		w.Header().Get("X-Goog-Upload-Status") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if lost := sim.Stats().APIUploadsLost; lost != 1 {
		t.Errorf("%d answers are counted as lost", lost)
	}
	scripted, _, _ := serve(t, geminisim.Config{})
	s = startSession(t, scripted)
	scripted.AnswerNext(geminisim.OpUpload, "", geminisim.LostAnswer())
	if w := s.send("upload", 0, strings.NewReader(strings.Repeat("x", piece))); w.Code != 503 {
		t.Errorf("%d", w.Code)
	}
	if got := s.received(); got != fmt.Sprint("active ", piece) {
		t.Error(got)
	}
}

// TestQueryOfAFile: after the last piece some queries name the file, always or never in one session.
func TestQueryOfAFile(t *testing.T) {
	t.Parallel()
	sim, _, _ := serve(t, geminisim.Config{})
	named := 0
	for range 20 {
		s := startSession(t, sim)
		want := s.send("upload, finalize", 0, strings.NewReader("x")).Body.String()
		first, second := s.send("query", 0, nil).Body.String(), s.send("query", 0, nil).Body.String()
		if first != second || first != "" && first != want {
			t.Errorf("%q, then %q, of %q", first, second, want)
		}
		if first != "" {
			named++
		}
	}
	if named == 0 || named == 20 {
		t.Errorf("%d of 20 name it", named)
	}
}

// TestUploadsAtOnce: a session that waits for its piece holds up no other, and no other request.
func TestUploadsAtOnce(t *testing.T) {
	t.Parallel()
	for place, cfg := range places(t) {
		sim, _, _ := serve(t, cfg)
		slow := startSession(t, sim)
		content, to := io.Pipe()
		var wg sync.WaitGroup
		wg.Go(func() {
			if w := slow.send("upload, finalize", 0, content); w.Code != 200 {
				t.Errorf("%s: the slow one is answered %d %s", place, w.Code, w.Body)
			}
		})
		if _, err := io.WriteString(to, "x"); err != nil { // its piece is being read
			t.Fatal(err)
		}
		for range 4 {
			wg.Go(func() {
				s := startSession(t, sim)
				if w := s.send("upload, finalize", 0, strings.NewReader("y")); w.Code != 200 {
					t.Errorf("%s: %d %s", place, w.Code, w.Body)
				}
			})
		}
		submit(t, sim, "meanwhile")
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if got := slow.received(); got != "final 1" {
			t.Errorf("%s: %s", place, got)
		}
	}
}
