package httpfunc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/opledger/opledger/shared/operation"
)

// The bounds on the memory that requests, verified or not, can take in one function [W7].
const (
	// MaxBody is the largest body that a function reads, in bytes.
	MaxBody = 1 << 20
	// BodyTime is how long a body may take to arrive, from the end of the request's headers.
	BodyTime = 10 * time.Second
	// maxHeld is the most bytes of bodies that a function holds at a time.
	maxHeld = 16 * MaxBody
	// paceTime is the time in which a body must bring paceBytes, once it holds more than idleBody: what is
	// sent by half would keep the room from others for all of BodyTime.
	paceTime  = 2 * time.Second
	paceBytes = 512 << 10
	idleBody  = 8 << 10
	// smallBody is the largest body, in bytes, that may use the last quarter of maxHeld, and that is
	// decoded without a turn.
	smallBody = 64 << 10
	// maxDecoded is how many larger bodies a function decodes at a time.
	maxDecoded = 2
)

// The reasons of ReadBody's errors, which log-based metrics count.
const (
	tooLarge  = "too-large"
	overload  = "overload"
	slow      = "slow-body"
	brokenOff = "broken-off"
)

// ReadBody reads a whole body of at most MaxBody bytes. It reads nothing of one whose
// Content-Length is larger. Behind OnlyPOST it reads for at most BodyTime, only while the body makes
// progress, and only while all bodies together are within their bound. The error is an *Error.
func ReadBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	large := Reasonf(http.StatusRequestEntityTooLarge, tooLarge,
		"the body is larger than the %d bytes that are read", MaxBody)
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
		return nil, Reasonf(http.StatusServiceUnavailable, overload, "%v", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, Reasonf(http.StatusRequestTimeout, slow,
			"the body did not arrive within %s, or one of more than %d bytes brought less than %d in %s",
			BodyTime, idleBody, paceBytes, paceTime)
	default:
		return nil, Reasonf(http.StatusBadRequest, brokenOff, "the body broke off: %v", err)
	}
}

// An intake is the body of one request. It cuts off a slow sender and reserves its bytes in the
// room that all bodies share. It closes the connection if the answer is written before the body has
// ended.
type intake struct {
	io.ReadCloser
	room       *room
	held       int
	connection *http.ResponseController
	answer     http.Header
	ends       time.Time // of BodyTime
	paced      int       // bytes since the last pace began; -1: none has begun
}

// receive returns r with its body behind an intake. The caller calls release when it no longer
// needs the body.
func (m *room) receive(w http.ResponseWriter, r *http.Request) (guarded *http.Request, release func()) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, func() {}
	}
	in := &intake{
		ReadCloser: r.Body, room: m, connection: http.NewResponseController(w), answer: w.Header(),
		ends: time.Now().Add(BodyTime), paced: -1,
	}
	// Otherwise the server would wait for the rest of a body before it sends the answer.
	in.answer.Set("Connection", "close")
	// It fails for a test's writer, which has no connection and so no slow sender.
	_ = in.connection.SetReadDeadline(in.ends)
	// A copy, because the server inspects its own body.
	guarded = r.WithContext(context.WithValue(r.Context(), roomKey{}, m))
	guarded.Body = in
	return guarded, func() { m.release(in.held) }
}

func (in *intake) Read(p []byte) (int, error) {
	n, err := in.ReadCloser.Read(p)
	if !in.room.reserve(n, in.held) {
		return 0, errNoRoom
	}
	in.held += n
	if errors.Is(err, io.EOF) {
		in.answer.Del("Connection")
		_ = in.connection.SetReadDeadline(time.Time{})
	} else {
		in.pace(n)
	}
	return n, err
}

// pace sets by when more must come, after n bytes.
func (in *intake) pace(n int) {
	if in.held <= idleBody {
		return
	}
	if in.paced >= 0 && in.paced+n < paceBytes {
		in.paced += n
		return
	}
	in.paced = 0
	_ = in.connection.SetReadDeadline(operation.Earlier(time.Now().Add(paceTime), in.ends))
}

var errNoRoom = errors.New("too many bytes of requests are being handled; send it again later")

// A room bounds the bodies of all requests to one function together.
type room struct {
	turns *semaphore.Weighted // for large bodies to be decoded

	mu   sync.Mutex
	held int // bytes
}

func newRoom() *room { return &room{turns: semaphore.NewWeighted(maxDecoded)} }

type roomKey struct{}

// AwaitTurn waits until a body that was read may be decoded, and returns what ends its turn. Behind
// OnlyPOST only maxDecoded large ones are decoded at a time; small ones do not wait. ctx is the
// request's. The error is an *Error: ctx ended first.
func AwaitTurn(ctx context.Context, body []byte) (end func(), err error) {
	m, bounded := ctx.Value(roomKey{}).(*room)
	if !bounded || len(body) <= smallBody {
		return func() {}, nil
	}
	if ctx.Err() != nil || m.turns.Acquire(ctx, 1) != nil { // the first: also where there is a turn
		return nil, Reasonf(http.StatusServiceUnavailable, overload,
			"the request's time was over before its large body could be decoded; send it again later")
	}
	return func() { m.turns.Release(1) }, nil
}

// reserve reserves n bytes for a body that holds had bytes already, and reports whether there was
// room. Large bodies leave a quarter to small ones, which ordinary requests have.
func (m *room) reserve(n, had int) bool {
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

func (m *room) release(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held -= n
}
