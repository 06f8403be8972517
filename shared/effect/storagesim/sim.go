package storagesim

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"
)

// An Object is a stored object.
type Object struct {
	storage.Object
	// Content is empty if it is kept in files, or only its checksum is.
	Content []byte

	content *content
}

// Config is how the simulator behaves.
type Config struct {
	// Buckets are the existing ones.
	Buckets []string
	// ChecksumsOnly keeps no content, for tests that measure memory.
	ChecksumsOnly bool
	// Folder keeps content in files there, for tests that measure memory and read what was written.
	Folder string
	// PageNames is how many names a list returns at once; 0 is 1,000.
	PageNames int
	// Now is the clock of what is created; nil is time.Now.
	Now func() time.Time
}

// A Sim is a simulated Cloud Storage. It is safe for concurrent use.
type Sim struct {
	config Config
	server *httptest.Server

	mu         sync.Mutex
	objects    map[string]*Object // by bucket/name
	sessions   map[string]*session
	generation int64
	made       int // sessions
	faults     []*fault
	denied     map[string]bool
	damaged    int
}

// Start starts a simulator on a free port of loopback. Close it when done.
func Start(config Config) *Sim {
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.PageNames == 0 {
		config.PageNames = 1000
	}
	s := &Sim{config: config, objects: map[string]*Object{}, sessions: map[string]*session{}, denied: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /upload/storage/v1/b/{bucket}/o", s.serve(s.upload))
	mux.HandleFunc("POST /sessions/{id}", s.serve(s.resume))
	mux.HandleFunc("PUT /sessions/{id}", s.serve(s.resume))
	mux.HandleFunc("GET /storage/v1/b/{bucket}", s.serve(s.getBucket))
	mux.HandleFunc("GET /storage/v1/b/{bucket}/o", s.serve(s.list))
	mux.HandleFunc("GET /storage/v1/b/{bucket}/o/{name}", s.serve(s.get))
	mux.HandleFunc("DELETE /storage/v1/b/{bucket}/o/{name}", s.serve(s.delete))
	mux.HandleFunc("POST /storage/v1/b/{bucket}/o/{name}/compose", s.serve(s.compose))
	s.server = httptest.NewServer(mux)
	return s
}

// Close stops the simulator.
func (s *Sim) Close() { s.server.Close() }

// Addr returns the host and port of the simulator, in the form of STORAGE_EMULATOR_HOST.
func (s *Sim) Addr() string { return strings.TrimPrefix(s.server.URL, "http://") }

// serve answers with the result of handle, unless a fault is injected.
func (s *Sim) serve(handle func(w http.ResponseWriter, r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f := s.next(pointOf(r))
		if f != nil && f.before != nil {
			f.before()
		}
		if f != nil && f.status != 0 && !f.after {
			refuse(w, f.status, f.retryAfter, fmt.Sprintf("injected failure: %s %s", r.URL, r.Header))
			return
		}
		var into http.ResponseWriter = w
		if f != nil && f.after {
			into = httptest.NewRecorder() // its answer is lost
		}
		if f != nil && f.cut {
			into = &cutAnswer{ResponseWriter: w, left: f.bytes}
		}
		answer, err := handle(into, r)
		switch {
		case f != nil && f.after && f.status == 0:
			panic(http.ErrAbortHandler) // the connection ends without an answer
		case f != nil && f.after:
			refuse(w, f.status, f.retryAfter, "injected loss of the answer")
		case err != nil:
			refused := googleapi.Error{Code: http.StatusInternalServerError, Message: err.Error()}
			if refusal, ok := err.(*googleapi.Error); ok { //nolint:errorlint // made here, never wrapped
				refused = *refusal
			}
			refuse(w, refused.Code, "", refused.Message)
		case answer != nil:
			w.Header().Set("Content-Type", "application/json; charset=UTF-8")
			_ = json.NewEncoder(w).Encode(answer) // a caller that is gone needs no answer
		}
	}
}

func refuse(w http.ResponseWriter, status int, retryAfter, message string) {
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": status, "message": message}}) // as above
}

func refusal(status int, format string, args ...any) error {
	return &googleapi.Error{Code: status, Message: fmt.Sprintf(format, args...)}
}

// getBucket answers with a bucket's name.
func (s *Sim) getBucket(_ http.ResponseWriter, r *http.Request) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch bucket := r.PathValue("bucket"); {
	case s.denied["storage.buckets.get"]:
		return nil, refusal(http.StatusForbidden, "Caller does not have storage.buckets.get access to the Google Cloud "+
			"Storage bucket.")
	case !slices.Contains(s.config.Buckets, bucket):
		return nil, refusal(http.StatusNotFound, "The specified bucket does not exist.")
	default:
		return map[string]string{"name": bucket}, nil
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}
