package geminisim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

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

// fileLife is how long an uploaded file is kept (documented), by Config.Now.
const fileLife = 48 * time.Hour

// file returns the file as the API shows it.
func (u *upload) file() uploadedFile {
	at := u.createTime.UTC()
	return uploadedFile{
		Name: u.name, DisplayName: u.display, MIMEType: u.mimeType, SizeBytes: strconv.FormatInt(u.size, 10),
		CreateTime: at, UpdateTime: at, ExpirationTime: at.Add(fileLife),
		URI: "https://generativelanguage.googleapis.com/v1beta/" + u.name, State: "ACTIVE", Source: "UPLOADED",
	}
}

// there returns the uploaded file of that name, nil if there is none: it was never uploaded to its end,
// was deleted, or is over. The caller must hold s.mu.
func (s *Sim) there(name string) *upload {
	if u := s.uploads[name]; u != nil && u.final && !s.isOver(u) {
		return u
	}
	return nil
}

// isOver reports whether a file is gone. The caller must hold s.mu.
func (s *Sim) isOver(u *upload) bool {
	return u.deleted || s.cfg.Now().Sub(u.createTime) >= fileLife
}

// getFile shows an uploaded file.
func (s *Sim) getFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.there("files/" + r.PathValue("id"))
	if u == nil {
		writeError(w, http.StatusForbidden, noFile(r.PathValue("id")))
		return
	}
	writeJSON(w, u.file())
}

// deleteFile deletes an uploaded file. A batch that was created from it keeps its requests. The file of
// a batch's results cannot be deleted, because its name is too long (seen live).
func (s *Sim) deleteFile(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if strings.HasPrefix(id, resultPrefix) {
		writeError(w, http.StatusBadRequest, "* DeleteFileRequest.name: File ID (name without the `files/` prefix) "+
			"must not exceed 40 characters.\n")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.there("files/" + id)
	if u == nil {
		writeError(w, http.StatusForbidden, noFile(id))
		return
	}
	u.deleted = true
	if !u.named {
		if err := u.content.remove(); err != nil {
			writeError(w, http.StatusInternalServerError, err.Error())
			return
		}
	}
	writeJSON(w, struct{}{})
}

// noFile is what the API says about a file that does not exist, and about one of another project.
func noFile(id string) string {
	return "You do not have permission to access the File " + id + " or it may not exist."
}
