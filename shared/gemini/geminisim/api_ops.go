package geminisim

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// Op is one kind of request to the API.
type Op string

// The kinds of requests for AnswerNext.
const (
	OpCreate     Op = "create"      // batches: POST models/m:batchGenerateContent
	OpGet        Op = "get"         // batches
	OpList       Op = "list"        // batches
	OpCancel     Op = "cancel"      // batches
	OpDelete     Op = "delete"      // batches
	OpDownload   Op = "download"    // of a batch's result file, or a video
	OpUpload     Op = "upload"      // of a file, each of its requests
	OpFileGet    Op = "file get"    // what an uploaded file is, without its content
	OpFileDelete Op = "file delete" // of an uploaded file
	OpWebhook    Op = "webhook"     // any request about webhooks
	OpJWKS       Op = "jwks"        // GET JWKSPath

	OpVideoCreate Op = "video create" // POST models/m:predictLongRunning
	OpVideoGet    Op = "video get"

	OpCacheCreate Op = "cache create"
	OpCacheGet    Op = "cache get"
	OpCacheDelete Op = "cache delete"

	OpInteractionCreate Op = "interaction create"
	OpInteractionGet    Op = "interaction get"
	OpInteractionCancel Op = "interaction cancel"
	OpInteractionDelete Op = "interaction delete"
)

func (op Op) creates() bool {
	return op == OpCreate || op == OpVideoCreate || op == OpInteractionCreate
}

// reads reports whether the shares of Faults for reading requests apply.
func (op Op) reads() bool {
	return op == OpGet || op == OpList || op == OpDownload || op == OpFileGet || op == OpCacheGet || op == OpVideoGet ||
		op == OpInteractionGet
}

// changes reports whether what such a request reads has had another state before.
func (op Op) changes() bool { return op != OpDownload && op != OpFileGet && op != OpCacheGet }

// errors returns the form of errors for such a request.
func (op Op) errors() func(status int, message string) Answer {
	if op == OpInteractionGet {
		return InteractionError
	}
	return ErrorAnswer
}

// countRequest counts a request by its kind, whatever the answer.
func (s *Sim) countRequest(op Op) {
	s.count(func(st *Stats) {
		switch op {
		case OpCreate, OpVideoCreate, OpInteractionCreate:
			st.Creates++
		case OpGet:
			st.BatchGets++
		case OpList:
			st.BatchLists++
		case OpVideoGet:
			st.VideoGets++
		case OpInteractionGet:
			st.InteractionGets++
		case OpJWKS:
			st.JWKSRequests++
		}
	})
}

// subject is what a request is about; empty fields are not known.
type subject struct{ id, name, label string }

// concerns reports whether a scripted answer for that name is for a request about this subject.
func (s *Sim) concerns(name string, of subject) bool {
	if o := s.byID[of.id]; o != nil {
		return o.isNamed(name)
	}
	return name != "" && (name == of.name || name == of.label)
}

func noSubject(*http.Request) subject { return subject{} }

// pathSubject is the subject of a request that names its operation in the path, below this
// collection.
func pathSubject(collection string) func(*http.Request) subject {
	return func(r *http.Request) subject {
		id := r.PathValue("id")
		return subject{id: id, name: collection + id}
	}
}

// labelled returns the subject of a creation, which label reads from the body. The body can be read
// again.
func labelled(label func(body []byte) string) func(*http.Request) subject {
	return func(r *http.Request) subject {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			// The handler meets the same error and answers it.
			r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
			return subject{}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		return subject{label: label(body)}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, fmt.Errorf("geminisim: %w", f.err) }

// discard is the ResponseWriter of a request whose answer is not sent.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
