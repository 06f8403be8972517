package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/opledger/opledger/shared/operation"
)

func itemKey(index int64) string { return fmt.Sprintf("request-%d", index+1) }

// itemFiles serves the result files of the simulator, with larger items. One of them is served at
// the pace of the sink, so that its reader, too, is killed all along it.
type itemFiles struct {
	gemini http.Handler
	sink   *itemSink

	mu    sync.Mutex
	paced string              // the batch
	lines map[string][][]byte // by path: the simulator makes them again each time, which takes long
}

// pace chooses the batch.
func (f *itemFiles) pace(batch operation.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paced = batch.ID()
}

func (f *itemFiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, ":download") {
		f.gemini.ServeHTTP(w, r)
		return
	}
	const ahead = 300
	filler := []byte(`"response":{"filler":"` + strings.Repeat("x", itemBytes) + `",`)
	lines, paced := f.read(r)
	for i, line := range lines {
		if paced && !f.sink.reached(r.Context(), int64(i-ahead), w) {
			return
		}
		if _, err := w.Write(bytes.Replace(line, []byte(`"response":{`), filler, 1)); err != nil {
			return // the process was killed
		}
	}
}

func (f *itemFiles) read(r *http.Request) (lines [][]byte, paced bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines[r.URL.Path] == nil {
		file := httptest.NewRecorder()
		f.gemini.ServeHTTP(file, r)
		f.lines[r.URL.Path] = bytes.SplitAfter(bytes.TrimSpace(file.Body.Bytes()), []byte("\n"))
	}
	return f.lines[r.URL.Path], strings.Contains(r.URL.Path, f.paced)
}

// A wantedItems is which items of an effect are still to be done.
type wantedItems struct {
	from    int64 // this one and all behind it
	waiting map[int64]bool
}

func (w wantedItems) has(index int64) bool { return index >= w.from || w.waiting[index] }

// An itemSink is a receiver of items that remembers idempotency keys, and kills the process that sends them.
type itemSink struct {
	items  int64
	wanted int // kills
	kill   func(process string)
	struck chan struct{} // a value for each kill

	mu       sync.Mutex
	batch    operation.Key
	process  string                      // the one that lives
	known    map[string]wantedItems      // what the ledger knew when a process began
	sums     map[int64][sha256.Size]byte // of what came about an item first
	accepted map[int64]string            // the process from which it was taken
	repeats  int
	again    map[string]int // repeats of what had been taken from the same process
	kills    int
	fixed    bool          // the bad item is taken
	more     chan struct{} // closed with the next new item
	problems []string
}

func newItemSink(items int64, kills int, kill func(process string)) *itemSink {
	return &itemSink{
		items: items, kill: kill, wanted: kills, struck: make(chan struct{}, kills), more: make(chan struct{}),
		known: map[string]wantedItems{}, sums: map[int64][sha256.Size]byte{},
		accepted: map[int64]string{}, again: map[string]int{},
	}
}

// fix takes the bad item from now on.
func (s *itemSink) fix() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fixed = true
}

// receive says whose items will come.
func (s *itemSink) receive(batch operation.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batch = batch
}

// expect notes that a process begins, and from where it must go on.
func (s *itemSink) expect(process string, known wantedItems) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.known[process] = process, known
}

func (s *itemSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	process := path.Base(r.URL.Path)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // its process was killed while it sent
	}
	index, status, at := s.arrive(process, r.Header, body)
	strike := func(m moment) {
		if at == m {
			s.kill(process)
			s.struck <- struct{}{}
			panic(http.ErrAbortHandler)
		}
	}
	strike(beforeEffect)
	if status == http.StatusOK {
		s.accept(process, index)
	}
	strike(duringEffect)
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(status)
	_ = http.NewResponseController(w).Flush() // a process that is gone cannot be told
	strike(afterEffect)
}

// arrive notes a request, and says what it is answered and whether its process is to be killed.
func (s *itemSink) arrive(process string, header http.Header, body []byte) (index int64, status int, at moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var payload struct {
		Item struct {
			Key string `json:"key"`
		} `json:"item"`
	}
	err := json.Unmarshal(body, &payload)
	n, numberErr := strconv.ParseInt(strings.TrimPrefix(payload.Item.Key, "request-"), 10, 64)
	index = n - 1
	if want := operation.ItemIdempotencyKey(s.batch, "publish", itemKey(index)); err != nil || numberErr != nil ||
		header.Get("Idempotency-Key") != want {
		s.problems = append(s.problems,
			fmt.Sprintf("%s sent the key %q with %.200s", process, header.Get("Idempotency-Key"), body))
	}
	if wanted := s.known[process].has(index) && !s.fixed || s.fixed && index == badItem; !wanted {
		s.problems = append(s.problems,
			fmt.Sprintf("%s repeated item %d, whose end was in the ledger when it began", process, index))
	}
	sum := sha256.Sum256(body)
	before, came := s.sums[index]
	if came && before != sum {
		s.problems = append(s.problems, fmt.Sprintf("%s sent other bytes for item %d", process, index))
	}
	if !came {
		s.sums[index] = sum
		close(s.more)
		s.more = make(chan struct{})
	}
	if s.kills < s.wanted && process == s.process && int64(len(s.sums)) >= int64(s.kills+1)*s.items/int64(s.wanted+1) {
		at = []moment{beforeEffect, duringEffect, afterEffect}[s.kills%3]
		s.kills++
		s.process = ""
	}
	switch {
	case index == badItem && !s.fixed:
		return index, http.StatusBadRequest, at
	case index == s.items/2 && !came: // which cannot be taken the first time
		return index, http.StatusServiceUnavailable, at
	}
	return index, http.StatusOK, at
}

func (s *itemSink) accept(process string, index int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by, repeat := s.accepted[index]
	if repeat {
		s.repeats++
	}
	if by == process {
		s.again[process]++
	}
	s.accepted[index] = process
}

func (s *itemSink) took(index int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted[index] != ""
}

// unrecorded counts the items that were performed and of which the ledger does not know.
func (s *itemSink) unrecorded(p wantedItems) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for index := range s.accepted {
		if p.has(index) {
			n++
		}
	}
	return n
}

// reached waits until more items have come than index, and reports false where the reader of w has gone before.
func (s *itemSink) reached(ctx context.Context, index int64, w http.ResponseWriter) bool {
	for {
		s.mu.Lock()
		come, more := int64(len(s.sums)), s.more
		s.mu.Unlock()
		if index < come {
			return true
		}
		_ = http.NewResponseController(w).Flush() // one that is gone shows below
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

// audit returns what was wrong, how many items were repeated that had been taken, and from which process both times.
func (s *itemSink) audit() (problems []string, repeats int, again map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problems, s.repeats, s.again
}
