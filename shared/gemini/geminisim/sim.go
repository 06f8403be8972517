package geminisim

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	attemptTimeout    = 10 * time.Second // before Speed
	minAttemptTimeout = 2 * time.Second  // real time: a loaded machine stays a healthy receiver
)

// Sim is one simulated Gemini project. Its methods are safe for concurrent use. It must be closed.
type Sim struct {
	cfg     Config
	client  *http.Client
	ownHTTP *http.Transport // nil when the client is the caller's
	mux     *http.ServeMux
	start   time.Time // monotonic origin of elapsed

	sentKeys *sentKeys // nil: they are not counted

	ctx  context.Context // ends with Close
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu         sync.Mutex // guards everything below
	closed     bool
	changed    chan struct{} // closed and replaced when stats or operations change
	stats      Stats
	operations []*operation // by creation
	created    map[*kind]int
	byID       map[string]*operation
	keys       keyring
	hooks      []*webhook // by creation, without deleted ones
	hooksNew   int        // ever created, so that ids are not reused
	scripts    map[string]Script
	prefixes   map[string]Script
	answers    []*scripted
	requests   map[requestKey]uint64 // requests so far, for the fault plan
	uploads    map[string]*upload    // by name
	sessions   map[string]*upload    // by id
	caches     map[string]*cached    // by name
	posts      int                   // creations of batches that were asked for
	sent       uint64                // calls of Deliver, for the ids
}

// New starts a simulator. The caller must serve Handler.
func New(cfg Config) *Sim {
	if cfg.Speed <= 0 {
		cfg.Speed = 1
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.RunTime == [2]time.Duration{} {
		cfg.RunTime = [2]time.Duration{LeastRunTime, MostRunTime}
	}
	if cfg.MaxUpload <= 0 {
		cfg.MaxUpload = maxUploadInMemory
		if cfg.Folder != "" {
			cfg.MaxUpload = maxUploadOnDisk
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Sim{
		cfg:      cfg,
		start:    time.Now(),
		ctx:      ctx,
		stop:     stop,
		changed:  make(chan struct{}),
		created:  make(map[*kind]int),
		byID:     make(map[string]*operation),
		scripts:  make(map[string]Script),
		requests: make(map[requestKey]uint64),
		uploads:  make(map[string]*upload),
		sessions: make(map[string]*upload),
		caches:   make(map[string]*cached),
		prefixes: make(map[string]Script),
		sentKeys: newSentKeys(cfg.CountKeys),
	}
	client := http.Client{}
	if cfg.HTTP != nil {
		client = *cfg.HTTP
	} else {
		s.ownHTTP = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, ForceAttemptHTTP2: true}
		client.Transport = s.ownHTTP
	}
	// Standard Webhooks counts a redirect as a failed attempt.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.client = &client
	s.mux = s.routes()
	return s
}

// Handler is the API, to be served at the root of a host: it answers below /v1beta and
// /download/v1beta, and at JWKSPath.
func (s *Sim) Handler() http.Handler { return s }

// Close stops every operation, timer and retry, waits for the attempts in flight, and returns when
// no goroutine is left. The API still answers, but no state changes. A second Close does nothing.
func (s *Sim) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.wg.Wait()
	if s.ownHTTP != nil {
		s.ownHTTP.CloseIdleConnections()
	}
}

// spawn runs f in a goroutine that Close waits for. After Close it does nothing. The caller must
// hold s.mu, which orders spawn before Close's Wait.
func (s *Sim) spawn(f func()) {
	if !s.closed {
		s.wg.Go(f)
	}
}

// sleep waits for a simulated duration and reports whether it passed before ctx ended.
func (s *Sim) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(s.real(d))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// real converts a simulated duration into a real one.
func (s *Sim) real(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.cfg.Speed)
}

// elapsed is the simulated time since New.
func (s *Sim) elapsed() time.Duration {
	return time.Duration(float64(time.Since(s.start)) * s.cfg.Speed)
}

// rand returns the stream of random numbers for the seed and these names. It is independent of
// every other stream.
func (s *Sim) rand(names ...string) *rand.Rand {
	return stream(strconv.FormatUint(s.cfg.Seed, 10), names...)
}

func stream(first string, names ...string) *rand.Rand {
	seed := sha256.Sum256([]byte(first + "\x00" + strings.Join(names, "\x00")))
	return rand.New(rand.NewChaCha8(seed))
}

const (
	lowerAlnum = "abcdefghijklmnopqrstuvwxyz0123456789"
	urlSafe    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + lowerAlnum + "-_"
)

// id returns a random id of n lower-case letters and digits.
func id(r *rand.Rand, n int) string { return draw(r, lowerAlnum, n) }

// draw returns n random letters of an alphabet.
func draw(r *rand.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.IntN(len(alphabet))]
	}
	return string(b)
}
