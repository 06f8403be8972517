package httpfunc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// The bounds on what callers can make one function hold, verified or not [W7].
const (
	// MaxBody is the largest body that a function reads, in bytes.
	MaxBody = 1 << 20
	// BodyTime is how long a body may take to arrive, counted from the end of its headers.
	BodyTime = 10 * time.Second
	// maxHeld is how many bytes of bodies a function holds at a time.
	maxHeld = 16 * MaxBody
	// smallBody is the size, in bytes, up to which a body may take the last quarter of maxHeld.
	smallBody = 64 << 10
)

// The reasons of the errors of ReadBody, for the log to count.
const (
	tooLarge  = "too-large"
	overload  = "overload"
	slow      = "slow-body"
	brokenOff = "broken-off"
)

// ReadBody reads a whole body of at most MaxBody; of one that says to be larger, nothing. Behind
// OnlyPOST it reads for at most BodyTime, and only while there is room. The error is an *Error that
// says what to answer.
func ReadBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	large := &Error{
		Status: http.StatusRequestEntityTooLarge, Reason: tooLarge,
		Message: fmt.Sprintf("the body is larger than the %d bytes that are read", MaxBody),
	}
	if r.ContentLength > MaxBody {
		return nil, large
	}
	var body bytes.Buffer
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, MaxBody))
	var more *http.MaxBytesError
	switch {
	case err == nil:
		return body.Bytes(), nil
	case errors.As(err, &more):
		return nil, large
	case errors.Is(err, errNoRoom):
		return nil, &Error{Status: http.StatusServiceUnavailable, Reason: overload, Message: err.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &Error{
			Status: http.StatusRequestTimeout, Reason: slow,
			Message: fmt.Sprintf("the body did not arrive within %s", BodyTime),
		}
	default:
		return nil, &Error{
			Status: http.StatusBadRequest, Reason: brokenOff, Message: "the body broke off: " + err.Error(),
		}
	}
}

// An intake is the body of one request while its function runs. It cuts off a slow sender, takes its
// room from what all bodies share, and closes the connection where the answer comes before its end.
type intake struct {
	io.ReadCloser
	room       *room
	held       int
	connection *http.ResponseController
	answer     http.Header
}

// receive returns r with its body behind an intake. The caller calls release when the function is
// done with the body.
func (m *room) receive(w http.ResponseWriter, r *http.Request) (guarded *http.Request, release func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, func() {}
	}
	in := &intake{ReadCloser: r.Body, room: m, connection: http.NewResponseController(w), answer: w.Header()}
	// Otherwise the server would wait for the rest of a body before it sends the answer.
	in.answer.Set("Connection", "close")
	// A writer without a connection, as tests have them, has no slow sender either.
	_ = in.connection.SetReadDeadline(time.Now().Add(BodyTime))
	guarded = r.WithContext(r.Context()) // a copy: the server looks at its own
	guarded.Body = in
	return guarded, func() { m.giveBack(in.held) }
}

func (in *intake) Read(p []byte) (int, error) {
	n, err := in.ReadCloser.Read(p)
	if !in.room.take(n, in.held) {
		return 0, errNoRoom
	}
	in.held += n
	if errors.Is(err, io.EOF) {
		in.answer.Del("Connection")
		_ = in.connection.SetReadDeadline(time.Time{}) // of the sender nothing more is expected
	}
	return n, err
}

var errNoRoom = errors.New("as many bytes of requests as there is room for are being handled; send it again later")

// A room is what the bodies of all requests to one function share.
type room struct {
	mu   sync.Mutex
	held int // bytes
}

// take reserves n bytes for a body that has had some already, and reports whether there was room. Large
// bodies leave a quarter to small ones, as ordinary requests are.
func (m *room) take(n, had int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	most := maxHeld
	if had+n > smallBody {
		most -= maxHeld / 4
	}
	if m.held+n > most {
		return false
	}
	m.held += n
	return true
}

func (m *room) giveBack(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held -= n
}
