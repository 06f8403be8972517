package geminisim

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxBody bounds what the API reads; Gemini takes 20 MB of inline input.
const maxBody = 32 << 20

// routes returns the routes of the API. Each resource adds its own, with a method like batchRoutes.
// Calls such as models/m:batchGenerateContent are one path segment to http.ServeMux; see verbs.
func (s *Sim) routes() *http.ServeMux {
	mux := http.NewServeMux()
	models := verbs{}
	s.batchRoutes(mux, models)
	s.videoRoutes(mux, models)
	s.interactionRoutes(mux)
	s.fileRoutes(mux)
	s.uploadRoutes(mux)
	s.cacheRoutes(mux)
	s.webhookRoutes(mux)
	mux.HandleFunc("GET "+JWKSPath, s.serve(OpJWKS, noSubject, s.serveJWKS))
	mux.Handle("POST /v1beta/models/{id}", models)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, "no such path: "+r.Method+" "+r.URL.Path)
	})
	return mux
}

// ServeHTTP answers one request to the API.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == JWKSPath { // public, and outside the API
		s.mux.ServeHTTP(w, r)
		return
	}
	s.count(func(st *Stats) { st.APIRequests++ })
	session := strings.HasPrefix(r.URL.Path, uploadPath+"/") // its URL is the secret
	if r.Header.Get("X-Goog-Api-Key") == "" && !session {
		writeError(
			w,
			http.StatusForbidden,
			"Method doesn't allow unregistered callers (callers without established identity). "+
				"Please use API Key or other form of API consumer identity to call this API.",
		)
		return
	}
	limit := int64(maxBody)
	if session {
		limit = s.cfg.MaxUpload + 1
	}
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	s.mux.ServeHTTP(w, inBeta(r))
}

// inBeta returns a request to the API's stable version as one to v1beta. Measured: @google/genai
// 3.1.0 asks v1 where nothing else is set, and the other SDKs v1beta.
func inBeta(r *http.Request) *http.Request {
	for _, before := range []string{"", "/upload", "/download"} {
		if rest, ok := strings.CutPrefix(r.URL.Path, before+"/v1/"); ok {
			u := *r.URL
			u.Path, u.RawPath = before+"/v1beta/"+rest, ""
			beta := *r
			beta.URL = &u
			return &beta
		}
	}
	return r
}

// verbs serves the {id} of a pattern when it has the form id:verb, with {id} set to the id alone.
type verbs map[string]http.HandlerFunc

func (v verbs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id, verb, _ := strings.Cut(r.PathValue("id"), ":")
	serve, ok := v[verb]
	if !ok {
		writeError(w, http.StatusNotFound, "no such method: "+r.PathValue("id"))
		return
	}
	r.SetPathValue("id", id)
	serve(w, r)
}

// statusNames are the canonical names that go with the HTTP statuses in a standard error.
var statusNames = map[int]string{
	http.StatusBadRequest:          "INVALID_ARGUMENT",
	http.StatusUnauthorized:        "UNAUTHENTICATED",
	http.StatusForbidden:           "PERMISSION_DENIED",
	http.StatusNotFound:            "NOT_FOUND",
	http.StatusConflict:            "ABORTED",
	http.StatusTooManyRequests:     "RESOURCE_EXHAUSTED",
	499:                            "CANCELLED",
	http.StatusInternalServerError: "INTERNAL",
	http.StatusNotImplemented:      "UNIMPLEMENTED",
	http.StatusServiceUnavailable:  "UNAVAILABLE",
	http.StatusGatewayTimeout:      "DEADLINE_EXCEEDED",
}

// errorBody is the standard JSON error of Google's APIs.
func errorBody(code int, message string, details ...any) []byte {
	status := statusNames[code]
	if status == "" {
		status = "UNKNOWN"
	}
	e := map[string]any{"code": code, "message": message, "status": status}
	if len(details) > 0 {
		e["details"] = details
	}
	return mustJSON(map[string]any{"error": e})
}

func writeError(w http.ResponseWriter, code int, message string) {
	write(w, code, errorBody(code, message))
}

func writeNotFound(w http.ResponseWriter) {
	writeError(w, http.StatusNotFound, "Requested entity was not found.")
}

// writeJSON answers 200. An empty result is `{}`, never an empty body: measured against SDK
// v1.77.0, its webhooks half takes the latter for an error.
func writeJSON(w http.ResponseWriter, v any) {
	write(w, http.StatusOK, mustJSON(v))
}

func write(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(code)
	_, _ = w.Write(body) // the caller may have gone
}

// mustJSON encodes values of this package, and maps decoded from JSON.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("geminisim: " + err.Error())
	}
	return b
}

// readJSON decodes a request's body, an empty one as `{}`. Fields that v does not have are refused
// if strict. On false it has answered.
func readJSON(w http.ResponseWriter, r *http.Request, v any, strict bool) bool {
	if err := decode(r, v, strict); err != nil {
		writeError(w, http.StatusBadRequest, badJSON+err.Error())
		return false
	}
	return true
}

const badJSON = "Invalid JSON payload received: "

func decode(r *http.Request, v any, strict bool) error {
	dec := json.NewDecoder(r.Body)
	if strict {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

const (
	defaultPage = 50
	maxPage     = 1000
)

// page reads the size and the token of a list request. A token is a position in the order of
// creation, so that an operation created between two pages moves no other; from is -1 without a
// token. If it returns false it has answered.
func page(w http.ResponseWriter, sizeText, token string) (size, from int, ok bool) {
	size, from = defaultPage, -1
	if sizeText != "" {
		n, err := strconv.Atoi(sizeText)
		if err != nil || n < 0 {
			writeError(w, http.StatusBadRequest, "The page size must be a number from 0 up.")
			return 0, 0, false
		}
		if n > 0 {
			size = min(n, maxPage)
		}
	}
	if token != "" {
		text, err := base64.URLEncoding.DecodeString(token)
		n, numErr := strconv.Atoi(string(text))
		if err != nil || numErr != nil || n < 0 {
			writeError(w, http.StatusBadRequest, "The page token is not valid.")
			return 0, 0, false
		}
		from = n
	}
	return size, from, true
}

func pageToken(at int) string {
	return base64.URLEncoding.EncodeToString([]byte(strconv.Itoa(at)))
}
