package geminisim

import (
	"math/rand/v2"
	"net/http"
	"strings"
)

// resultPrefix begins the id of a result file; the id of its batch follows, which makes 42
// characters (seen live).
const resultPrefix = "batch-"

// fileRoutes serves result files and videos. The documented path begins with /download; SDK v1.77.0
// omits it.
func (s *Sim) fileRoutes(mux *http.ServeMux) {
	download := verbs{
		"download": s.serve(OpDownload, resultSubject, s.downloadResults),
		"":         s.serve(OpFileGet, fileSubject, s.getFile),
	}
	mux.Handle("GET /v1beta/files/{id}", download)
	mux.HandleFunc("DELETE /v1beta/files/{id}", s.serve(OpFileDelete, fileSubject, s.deleteFile))
	mux.Handle("GET /download/v1beta/files/{id}", download)
}

func resultSubject(r *http.Request) subject {
	return subject{id: strings.TrimPrefix(r.PathValue("id"), resultPrefix), name: "files/" + r.PathValue("id")}
}

func fileSubject(r *http.Request) subject { return subject{name: "files/" + r.PathValue("id")} }

// downloadResults streams the results of a batch, one JSON object per line, or a
// text in place of a video.
func (s *Sim) downloadResults(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b, file, gone := s.byID[resultSubject(r).id], "", false
	var read *rand.Rand
	var at snapshot
	if b != nil {
		at, read = b.now, b.read()
		file, gone = b.resultFile(at), s.cfg.gone(at.endTime)
	}
	s.mu.Unlock()
	if file != "files/"+r.PathValue("id") || gone {
		writeError(w, http.StatusForbidden, noFile(r.PathValue("id")))
		return
	}
	if r.URL.Query().Get("alt") != "media" {
		writeError(w, http.StatusBadRequest, "A download needs alt=media.")
		return
	}
	if b.kind == videoKind {
		w.Header().Set("Content-Type", "video/mp4")
		_, _ = w.Write([]byte("The video " + b.id + ".")) // the caller may have gone
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	order := s.cfg.Faults.order(read, b.size())
	if order.cut { // else a short answer would announce its length
		_ = http.NewResponseController(w).Flush()
	}
	if err := b.writeResults(w, at, order); err != nil {
		panic(http.ErrAbortHandler) // the caller has gone, or the input cannot be read: it is no whole answer
	}
}
