package server

import (
	"net/http"
	"regexp"
	"strconv"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/operation"
)

// maxUpload is the largest input that is received, in bytes: Gemini holds no more of a project's files.
const maxUpload = 20 << 30

var (
	digest       = regexp.MustCompile(`^[0-9a-f]{64}$`)
	contentRange = regexp.MustCompile(`^bytes (?:(\d{1,18})-(\d{1,18})|\*)/(\d{1,18})$`)
)

// An uploadRequest is what a request says about an upload.
type uploadRequest struct {
	upload
	keyField string
	// ranged: the body has the bytes from the one at from up to the one at to of size. Else it has all.
	ranged         bool
	from, to, size int64
}

// parseUpload reads a request to /jobs/{id}/input/{sha256}. The error is a *httpfunc.Error.
func (s *Server) parseUpload(r *http.Request) (uploadRequest, error) {
	u := uploadRequest{upload: upload{uploads: s.uploads, sha256: r.PathValue("sha256")}}
	if s.uploads == nil {
		return u, httpfunc.Errorf(http.StatusServiceUnavailable,
			"there is no job storage here: set OPLEDGER_JOB_STORAGE to gs://BUCKET/PREFIX or a folder")
	}
	var problems operation.Problems
	var err error
	u.key, err = operation.JobKey(r.PathValue("id"))
	problems.When(err != nil, "id", "%w", err)
	problems.When(!digest.MatchString(u.sha256), "sha256",
		"it must be the SHA-256 of what is sent, as 64 hexadecimal digits in lower case")
	for parameter, values := range r.URL.Query() {
		if parameter != "keyField" {
			problems.Add(diag.Quote(parameter), "there is no such parameter; the only one is keyField")
		} else {
			u.keyField = values[0]
		}
	}
	if given := r.Header.Get("Content-Range"); given != "" {
		problems = append(problems, u.readRange(given)...)
	}
	if len(problems) > 0 {
		return u, invalid("request", problems.Err())
	}
	if max(u.size, r.ContentLength) > maxUpload {
		return u, tooLarge()
	}
	return u, nil
}

func tooLarge() error {
	return httpfunc.Reasonf(http.StatusRequestEntityTooLarge, "too-large",
		"the input is larger than the %d bytes that are received; make several jobs of it", maxUpload)
}

// readRange reads a Content-Range.
func (u *uploadRequest) readRange(given string) (problems operation.Problems) {
	found := contentRange.FindStringSubmatch(given)
	if found == nil {
		problems.Add("Content-Range", "it must be bytes FROM-TO/SIZE, or bytes */SIZE where all have arrived, not %s",
			diag.QuoteUpTo(given, 100))
		return problems
	}
	number := func(text string) int64 {
		n, _ := strconv.ParseInt(text, 10, 64) // at most 18 digits
		return n
	}
	u.ranged, u.from, u.to, u.size = true, number(found[1]), number(found[2]), number(found[3])
	if found[1] == "" {
		u.from, u.to = u.size, u.size-1
	} else if u.to < u.from || u.to >= u.size {
		problems.Add("Content-Range", "%s names no bytes of an input", diag.QuoteUpTo(given, 100))
	}
	return problems
}

// invalid is the answer to a request or an input with the problems that err joins.
func invalid(what string, err error) error {
	answer := httpfunc.Errorf(http.StatusBadRequest, "the %s is invalid: %s", what, oneLine(err))
	for _, problem := range diag.Split(err) {
		answer.Problems = append(answer.Problems, problem.Error())
	}
	return answer
}
