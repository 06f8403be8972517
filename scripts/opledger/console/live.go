package console

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mostStreams is how many streams a console has at once, of all browsers. Each costs a connection, and
// each page that is watched costs reads.
const mostStreams = 64

// live reads pages again while they are watched, each once for all its watchers.
type live struct {
	every  time.Duration
	closed chan struct{}
	once   sync.Once

	mu      sync.Mutex
	watched map[string]*watched // by the page's address
	streams int
}

// A watched is a page with at least one watcher. live.mu guards all of it.
type watched struct {
	watchers int
	latest   []byte
	read     chan struct{} // closed, and replaced, when the page has been read again
	stop     context.CancelFunc
}

func newLive(every time.Duration) *live {
	return &live{every: every, closed: make(chan struct{}), watched: map[string]*watched{}}
}

func (l *live) close() { l.once.Do(func() { close(l.closed) }) }

// unchanged is the event of a page that was read again, and is as it was. To a browser a server that hangs looks like
// one that has nothing to send: only what arrives shows that a page is current.
const unchanged = "event: unchanged\n\n"

// serve sends the main part of a page as events: itself whenever it has changed, and else unchanged. It ends
// when the browser leaves or the console closes. One stream too many is to be tried again.
// every is how often the page is read.
func (l *live) serve(
	w http.ResponseWriter, r *http.Request, address string, every time.Duration, load func(context.Context) []byte,
) {
	page, leave := l.watch(address, every, load)
	if page == nil {
		w.Header().Set("Retry-After", strconv.Itoa(int(max(time.Second, l.every).Seconds())))
		http.Error(w, "too many pages are being watched", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	stream := http.NewResponseController(w)
	var sent []byte
	for {
		latest, read := l.state(page)
		event := []byte(unchanged)
		switch {
		case latest == nil: // it has not been read since the browser was sent it
			event = nil
		case !bytes.Equal(latest, sent):
			event, sent = message(latest), latest
		}
		if _, err := w.Write(event); err != nil {
			return // the browser has left
		}
		if stream.Flush() != nil {
			return
		}
		select {
		case <-read:
		case <-r.Context().Done():
			return
		case <-l.closed:
			return
		}
	}
}

// watch adds a watcher to a page. The first one starts the reading, and the last one that leaves
// ends it. Beyond mostStreams there is no page.
func (l *live) watch(
	address string, every time.Duration, load func(context.Context) []byte,
) (page *watched, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams == mostStreams {
		return nil, nil
	}
	l.streams++
	page = l.watched[address]
	if page == nil {
		ctx, stop := context.WithCancel(context.Background())
		page = &watched{read: make(chan struct{}), stop: stop}
		l.watched[address] = page
		go l.refresh(ctx, page, every, load)
	}
	page.watchers++
	return page, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.streams--
		if page.watchers--; page.watchers == 0 {
			page.stop()
			delete(l.watched, address)
		}
	}
}

// refresh reads a page until ctx ends.
func (l *live) refresh(
	ctx context.Context, page *watched, every time.Duration, load func(context.Context) []byte,
) {
	tick := time.Tick(every)
	for {
		select { // the browser has just been sent the page
		case <-tick:
		case <-ctx.Done():
			return
		case <-l.closed:
			return
		}
		latest := load(ctx)
		l.mu.Lock()
		if ctx.Err() == nil {
			page.latest = latest
			close(page.read)
			page.read = make(chan struct{})
		}
		l.mu.Unlock()
	}
}

func (l *live) state(page *watched) (latest []byte, read <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return page.latest, page.read
}

// lineEnds makes one kind of line end of three: a stream of events knows all of them.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// message is a text as an event of a stream: one data line for each of its own.
func message(text []byte) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(lineEnds.Replace(string(text))) {
		out.WriteString("data: " + strings.TrimRight(line, "\n") + "\n")
	}
	out.WriteByte('\n')
	return out.Bytes()
}
