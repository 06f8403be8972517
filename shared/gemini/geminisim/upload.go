package geminisim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// upload is one file that was uploaded, or is being uploaded, guarded by Sim.mu. Its id is also
// that of its session.
type upload struct {
	id         string
	name       string // files/ and what the uploader chose, or the id
	mimeType   string
	display    string
	createTime time.Time
	content    []byte
	final      bool
}

// uploadRoutes serves the resumable protocol of uploads: one request starts a session at the URL in
// its answer, and the others send the content there. Measured: what SDK v1.77.0 and @google/genai
// 3.1.0 send. Only the request that ends the upload has a body in its answer.
func (s *Sim) uploadRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST "+uploadPath, s.serve(OpUpload, noSubject, s.startUpload))
	mux.HandleFunc("POST "+uploadPath+"/{id}", s.serve(OpUpload, noSubject, s.continueUpload))
}

// uploadPath is where an upload is started; its session is below.
const uploadPath = "/upload/v1beta/files"

// uploadGranularity is what each piece but the last must be a multiple of, in bytes, as the answer to
// the start of an upload says.
const uploadGranularity = 256 << 10

// uploadedFile is the JSON of a file.
type uploadedFile struct {
	Name           string    `json:"name"`
	DisplayName    string    `json:"displayName,omitempty"`
	MIMEType       string    `json:"mimeType"`
	SizeBytes      string    `json:"sizeBytes"` // 64-bit on Google's side
	CreateTime     time.Time `json:"createTime"`
	UpdateTime     time.Time `json:"updateTime"`
	ExpirationTime time.Time `json:"expirationTime"`
	URI            string    `json:"uri"`
	State          string    `json:"state"`
	Source         string    `json:"source"`
}

// fileLife is how long an uploaded file is kept (documented). The simulator keeps it for as long as it lives.
const fileLife = 48 * time.Hour

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
	s.mu.Lock()
	u := &upload{
		id: id(s.rand("upload", strconv.Itoa(len(s.uploads))), 12), name: body.File.Name, display: body.File.DisplayName,
		mimeType: r.Header.Get("X-Goog-Upload-Header-Content-Type"), createTime: s.cfg.Now(),
	}
	if u.name == "" {
		u.name = "files/" + u.id
	}
	taken := s.uploads[u.name] != nil
	if !taken {
		s.uploads[u.name] = u
	}
	s.mu.Unlock()
	if taken {
		writeError(w, http.StatusConflict, "The file "+u.name+" already exists.")
		return
	}
	session := url.URL{Scheme: "http", Host: r.Host, Path: uploadPath + "/" + u.id}
	w.Header().Set("X-Goog-Upload-Status", "active")
	w.Header().Set("X-Goog-Upload-URL", session.String())
	w.Header().Set("X-Goog-Upload-Chunk-Granularity", strconv.Itoa(uploadGranularity))
}

func (s *Sim) continueUpload(w http.ResponseWriter, r *http.Request) {
	chunk, err := io.ReadAll(r.Body)
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var u *upload
	for _, other := range s.uploads {
		if other.id == r.PathValue("id") {
			u = other
		}
	}
	offset, err := strconv.Atoi(r.Header.Get("X-Goog-Upload-Offset"))
	switch {
	case u == nil || u.final:
		writeNotFound(w)
		return
	case err != nil || offset != len(u.content) || len(u.content)+len(chunk) > maxBody:
		writeError(w, http.StatusBadRequest, fmt.Sprintf("The upload is at %d, and the simulator takes %d bytes.",
			len(u.content), maxBody))
		return
	}
	last := strings.Contains(r.Header.Get("X-Goog-Upload-Command"), "finalize")
	if !last && len(chunk)%uploadGranularity != 0 {
		writeError(w, http.StatusBadRequest, fmt.Sprintf("A piece of %d bytes is no multiple of %d, and not the last.",
			len(chunk), uploadGranularity))
		return
	}
	u.content = append(u.content, chunk...)
	if !last {
		w.Header().Set("X-Goog-Upload-Status", "active")
		return
	}
	u.final = true
	w.Header().Set("X-Goog-Upload-Status", "final")
	writeJSON(w, map[string]any{"file": u.file()})
}

// file returns the file as the API shows it.
func (u *upload) file() uploadedFile {
	at := u.createTime.UTC()
	return uploadedFile{
		Name: u.name, DisplayName: u.display, MIMEType: u.mimeType, SizeBytes: strconv.Itoa(len(u.content)),
		CreateTime: at, UpdateTime: at, ExpirationTime: at.Add(fileLife),
		URI: "https://generativelanguage.googleapis.com/v1beta/" + u.name, State: "ACTIVE", Source: "UPLOADED",
	}
}

// getFile shows an uploaded file.
func (s *Sim) getFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads["files/"+r.PathValue("id")]
	if u == nil || !u.final {
		writeError(w, http.StatusForbidden, noFile(r.PathValue("id")))
		return
	}
	writeJSON(w, u.file())
}

// noFile is what the API says about a file that does not exist, and about one of another project.
func noFile(id string) string {
	return "You do not have permission to access the File " + id + " or it may not exist."
}

// keysIn returns the keys of the requests in an uploaded file, one JSON object a line.
func keysIn(content []byte) ([]string, error) {
	var keys []string
	for line := range bytes.Lines(content) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var request struct {
			Key     string
			Request map[string]any
		}
		if err := json.Unmarshal(line, &request); err != nil || request.Request == nil {
			return nil, fmt.Errorf(`request %d of the file is not {"key":…,"request":{…}}`, len(keys)+1)
		}
		keys = append(keys, request.Key)
	}
	if len(keys) == 0 {
		return nil, errors.New("the file has no requests")
	}
	return keys, nil
}
