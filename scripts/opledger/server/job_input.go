package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/job"
)

const (
	// uploadPace is how many bytes of an input must come in uploadTime.
	uploadPace = 1 << 20
	uploadTime = time.Minute

	// uploadOffset says how many bytes of an input have arrived, uploadComplete whether it is in job storage.
	uploadOffset   = "Upload-Offset"
	uploadComplete = "Upload-Complete"
)

// headInput answers HEAD /jobs/{id}/input/{sha256} with how many bytes have arrived.
func (s *Server) headInput(w http.ResponseWriter, r *http.Request) {
	u, err := s.parseUpload(r)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	input, complete, err := u.stored(r.Context(), u.keyField)
	size := input.Bytes
	if err == nil && !complete {
		size, err = u.arrived()
	}
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	setOffset(w, size, complete)
	w.WriteHeader(http.StatusOK)
}

func setOffset(w http.ResponseWriter, size int64, complete bool) {
	w.Header().Set(uploadOffset, strconv.FormatInt(size, 10))
	w.Header().Set(uploadComplete, map[bool]string{true: "?1", false: "?0"}[complete])
}

// putInput receives all or some bytes of an input at PUT /jobs/{id}/input/{sha256}. Once all have arrived it
// answers with the input, as POST /jobs/{id} takes it.
func (s *Server) putInput(w http.ResponseWriter, r *http.Request) {
	began := s.options.Now()
	u, err := s.parseUpload(r)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	if r.ContentLength == 0 {
		unhurried(w)
	}
	input, err := u.put(w, r)
	log := s.options.Log.With("event", "job", "operation", u.key, "sha256", u.sha256,
		"duration_ms", s.options.Now().Sub(began).Milliseconds())
	switch {
	case err != nil:
		outcome := "error"
		if errors.As(err, new(*httpfunc.Error)) {
			outcome = "refused"
		}
		log.WarnContext(r.Context(), "input not accepted", "outcome", outcome, "error", err)
		httpfunc.WriteError(w, err)
	case input.Object == "":
		httpfunc.WriteJSON(w, http.StatusAccepted, struct{}{})
	default:
		log.InfoContext(r.Context(), "input stored", "outcome", "stored", "requests", input.Requests, "bytes", input.Bytes)
		httpfunc.WriteJSON(w, http.StatusOK, map[string]job.Input{"input": input})
	}
}

// put returns the input once it is in job storage; without an object where bytes are missing. It sets the
// headers that say how many have arrived. The error is a *httpfunc.Error, or one of the disk or of job storage.
func (u uploadRequest) put(w http.ResponseWriter, r *http.Request) (job.Input, error) {
	release, err := u.begin()
	if err != nil {
		return job.Input{}, err
	}
	defer release()
	input, complete, err := u.stored(r.Context(), u.keyField)
	if err != nil {
		return job.Input{}, err
	}
	if complete {
		setOffset(w, input.Bytes, true)
		return input, nil
	}
	received, err := u.take(w, r)
	setOffset(w, received, false)
	if err != nil || u.ranged && received < u.size {
		return job.Input{}, err
	}
	ctx, end := untilStopped(r.Context())
	defer end()
	input, err = u.store(ctx, u.keyField)
	if err != nil {
		return job.Input{}, u.unfit(w, err)
	}
	setOffset(w, input.Bytes, true)
	return input, nil
}

// untilStopped returns a context that ends with the process, and not with the request: a large input takes
// minutes to store, for which a sender or its proxy may not wait. When it asks again the input is there.
func untilStopped(request context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(request))
	stopping := effect.Stopping(ctx)
	if stopping.Err() != nil { // AfterFunc would end ctx a moment later, when a small input is stored
		end(effect.ErrStopped)
	}
	release := context.AfterFunc(stopping, func() { end(effect.ErrStopped) })
	return ctx, func() {
		release()
		end(nil)
	}
}

// take adds the body to what has arrived, and returns how many bytes that are.
func (u uploadRequest) take(w http.ResponseWriter, r *http.Request) (int64, error) {
	have, err := u.arrived()
	if err != nil {
		return have, err
	}
	if u.ranged && have != u.from {
		return have, httpfunc.Errorf(http.StatusConflict,
			"%d bytes have arrived, so the next one is byte %[1]d; go on from there", have)
	}
	body := io.Reader(&slowBody{ReadCloser: r.Body, connection: http.NewResponseController(w), answer: w.Header()})
	body = http.MaxBytesReader(w, io.NopCloser(body), maxUpload-u.from)
	if u.ranged {
		body = io.LimitReader(body, u.to+1-u.from)
	}
	err = u.receive(u.from, body)
	have, unknown := u.arrived()
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		err = tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = httpfunc.Reasonf(http.StatusRequestTimeout, "slow-body",
			"less than %d bytes came in %s; go on with what is missing", uploadPace, uploadTime)
	case errors.As(err, new(*fs.PathError)):
	case err != nil, u.ranged && unknown == nil && have <= u.to:
		err = httpfunc.Reasonf(http.StatusBadRequest, "broken-off",
			"the body broke off: %d bytes have arrived; go on with what is missing", have)
	default:
		err = unknown
	}
	return have, err
}

// unfit is the answer for bytes that cannot be an input, which are deleted.
func (u uploadRequest) unfit(w http.ResponseWriter, err error) error {
	problems := (*job.InputProblems)(nil)
	switch {
	case errors.As(err, &problems):
		setOffset(w, 0, false)
		return invalid("input", problems)
	case errors.Is(err, errOtherSum):
		setOffset(w, 0, false)
		return httpfunc.Reasonf(http.StatusBadRequest, "other-sha256", "%v", err)
	default:
		return err
	}
}

// A slowBody is a body that may take hours, and is cut off where less than uploadPace comes in uploadTime.
type slowBody struct {
	io.ReadCloser
	connection *http.ResponseController
	answer     http.Header
	left       int // bytes of the pace
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.left = uploadPace
		_ = b.connection.SetReadDeadline(time.Now().Add(uploadTime)) // a test's writer has no connection
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	if errors.Is(err, io.EOF) { // nothing is unread, so the connection may stay
		b.answer.Del("Connection")
		_ = b.connection.SetReadDeadline(time.Time{})
	}
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}
