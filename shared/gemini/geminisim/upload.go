package geminisim

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// upload is one file that was uploaded, or is being uploaded. Its id is also that of its session.
type upload struct {
	id         string
	name       string // files/ and what the uploader chose, or the id
	mimeType   string
	display    string
	createTime time.Time

	session sync.Mutex // held while a piece arrives, before Sim.mu
	content content
	asked   sync.Once
	input   *input
	inputIs error // what is wrong with it

	// Guarded by Sim.mu.
	size    int64 // that of the content, once it is final
	final   bool
	deleted bool
	named   bool // in the creation of a batch, which may read the content as long as it likes
}

// uploadRoutes serves the resumable protocol of uploads: one request starts a session at the URL in
// its answer, and the others send the content there. Measured: what SDK v1.77.0 and @google/genai
// 3.1.0 send. Only the request that ends the upload has a body in its answer.
func (s *Sim) uploadRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST "+uploadPath, s.serve(OpUpload, noSubject, s.startUpload))
	mux.HandleFunc("POST "+uploadPath+"/{id}", s.serve(OpUpload, pathSubject(""), s.continueUpload))
}

// uploadPath is where an upload is started; its session is below.
const uploadPath = "/upload/v1beta/files"

// uploadGranularity is what each piece but the last must be a multiple of, in bytes, as the answer to
// the start of an upload says.
const uploadGranularity = 256 << 10

// The bounds of an uploaded file where Config.MaxUpload gives none.
const (
	maxUploadOnDisk   = 2 << 30
	maxUploadInMemory = 32 << 20
)

func (s *Sim) startUpload(w http.ResponseWriter, r *http.Request) {
	var body struct {
		File struct{ Name, DisplayName string }
	}
	if !readJSON(w, r, &body, false) {
		return
	}
	if r.Header.Get("X-Goog-Upload-Protocol") != "resumable" || r.Header.Get("X-Goog-Upload-Command") != "start" {
		writeError(w, http.StatusBadRequest, "The simulator knows resumable uploads only.")
		return
	}
	length, err := strconv.ParseInt(r.Header.Get("X-Goog-Upload-Header-Content-Length"), 10, 64)
	if err != nil {
		length = 0 // it is optional
	}
	u, refusal := s.newUpload(body.File.Name, length)
	if refusal != nil {
		refusal.write(w)
		return
	}
	u.display, u.mimeType = body.File.DisplayName, r.Header.Get("X-Goog-Upload-Header-Content-Type")
	session := url.URL{Scheme: "http", Host: r.Host, Path: uploadPath + "/" + u.id}
	w.Header().Set("X-Goog-Upload-Status", "active")
	w.Header().Set("X-Goog-Upload-URL", session.String())
	w.Header().Set("X-Goog-Upload-Chunk-Granularity", strconv.Itoa(uploadGranularity))
}

// newUpload starts the upload of a file of that name, or of one of the simulator's own, and length.
func (s *Sim) newUpload(name string, length int64) (*upload, *Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &upload{
		id: id(s.rand("upload", strconv.Itoa(len(s.sessions))), 12), name: name, createTime: s.cfg.Now(),
	}
	if u.name == "" {
		u.name = "files/" + u.id
	}
	if taken := s.uploads[u.name]; taken != nil && !s.isOver(taken) {
		return nil, refuse(http.StatusConflict, "The file "+u.name+" already exists.")
	}
	if length > s.cfg.MaxUpload {
		return nil, refuse(http.StatusBadRequest,
			fmt.Sprintf("The file has %d bytes, more than %d.", length, s.cfg.MaxUpload))
	}
	if refusal := s.overStorage(length); refusal != nil {
		return nil, refusal
	}
	if s.cfg.Folder != "" {
		u.content.path = filepath.Join(s.cfg.Folder, u.id)
	}
	s.uploads[u.name], s.sessions[u.id] = u, u
	return u, nil
}

// refuse returns a refusal.
func refuse(status int, message string) *Answer {
	a := ErrorAnswer(status, message)
	return &a
}

// continueUpload takes a piece of a file, or says how much of it there is. It holds Sim.mu for no longer
// than it takes to find the session, and to record what has come.
func (s *Sim) continueUpload(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	u := s.sessions[r.PathValue("id")]
	s.mu.Unlock()
	if u == nil {
		writeNotFound(w)
		return
	}
	u.session.Lock()
	defer u.session.Unlock()
	s.mu.Lock()
	final, file := u.final, u.file()
	s.mu.Unlock()
	command := r.Header.Get("X-Goog-Upload-Command")
	switch {
	case command == "query":
		w.Header().Set("X-Goog-Upload-Status", map[bool]string{false: "active", true: "final"}[final])
		w.Header().Set("X-Goog-Upload-Size-Received", strconv.FormatInt(u.content.size, 10))
		if final && s.rand("query", u.id).IntN(2) == 0 { // whether it names the file is not documented
			writeJSON(w, map[string]any{"file": file})
		}
		return
	case final:
		writeNotFound(w)
		return
	}
	last := strings.Contains(command, "finalize")
	if err := s.takePiece(u, r, last); err != nil {
		err.write(w)
		return
	}
	if !last {
		w.Header().Set("X-Goog-Upload-Status", "active")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal := s.overStorage(u.content.size); refusal != nil {
		refusal.write(w)
		return
	}
	u.size, u.final = u.content.size, true
	w.Header().Set("X-Goog-Upload-Status", "final")
	writeJSON(w, map[string]any{"file": u.file()})
}

// takePiece adds the content of a request to an upload whose session it holds.
func (s *Sim) takePiece(u *upload, r *http.Request, last bool) *Answer {
	offset, err := strconv.ParseInt(r.Header.Get("X-Goog-Upload-Offset"), 10, 64)
	if err != nil || offset != u.content.size {
		return refuse(http.StatusBadRequest, fmt.Sprintf("The upload is at %d, not at the offset of this piece, %q.",
			u.content.size, r.Header.Get("X-Goog-Upload-Offset")))
	}
	err = u.content.take(r.Body, s.cfg.MaxUpload-offset, last)
	if err != nil {
		return refuse(http.StatusBadRequest, fmt.Sprintf("The upload is at %d, and takes at most %d bytes: %v.",
			u.content.size, s.cfg.MaxUpload, err))
	}
	return nil
}
