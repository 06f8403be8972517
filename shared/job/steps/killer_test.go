package steps_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/storage"
)

var errKilled = errors.New("the process was killed")

// A killer ends a process, or lets a call fail, at one of its calls to the outside: of the ledger's store, of job
// storage, to Gemini, to the queue, or of the user's effect.
type killer struct {
	first int    // the call at which a process ends
	every int    // and again after so many; 0: at no other
	after bool   // the call took effect; those that only read are not counted, because it has none
	fails bool   // the call fails, and the process lives on
	kinds *kinds // each kind of call, instead of the calls with such numbers

	mu     sync.Mutex
	doing  string // what the process does
	begins bool   // it has made no call
	calls  int
	kills  int
	struck []string        // the calls at which a process ended
	idle   []error         // of calls that were to take effect before, and were ended
	made   map[string]bool // requests to Gemini that took effect
	dead   bool
	end    context.CancelFunc // ends what waits in the process
}

// point makes a call, unless the process has ended. writes: it changes something outside. Without a killer it
// makes the call.
func (k *killer) point(what string, writes bool, call func() error) error {
	if k == nil {
		return call()
	}
	ends, after, err := k.next(what, writes)
	if err != nil {
		return err
	}
	if ends && !after {
		return k.strike(what, nil)
	}
	if err = call(); ends {
		return k.strike(what, err) // not before the call, which would take no effect
	}
	return err
}

// strike ends the process, unless its call only fails. made is the call's own error.
func (k *killer) strike(what string, made error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead = !k.fails; k.dead {
		k.end()
	}
	if errors.Is(made, context.Canceled) {
		k.idle = append(k.idle, fmt.Errorf("%s: %w", what, made))
	}
	return errKilled
}

// next counts a call, and reports whether the process ends with it, and whether after the call took effect.
func (k *killer) next(what string, writes bool) (ends, after bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return false, false, errKilled
	}
	if k.kinds == nil && k.after && !writes {
		return false, false, nil
	}
	k.calls++
	if k.kinds != nil {
		kind, before := what+site(), true
		if !k.fails { // a process that ends before a call leaves what one leaves that ends after the write before it
			kind, before = k.doing+": "+kind, k.begins
		}
		ends, after = k.kinds.strike(kind, k.calls, before, writes)
		k.begins = false
	} else {
		behind := k.calls - k.first
		ends, after = behind == 0 || behind > 0 && k.every > 0 && behind%k.every == 0, k.after
	}
	if ends {
		k.kills, k.struck = k.kills+1, append(k.struck, what)
	}
	return ends, after, nil
}

func (k *killer) note(request string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.made == nil {
		k.made = map[string]bool{}
	}
	k.made[request] = true
}

// has reports whether a request to Gemini took effect.
func (k *killer) has(request string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.made[request]
}

// alive returns an error where the process has ended.
func (k *killer) alive() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return errKilled
	}
	return nil
}

// failed reports whether a call of such a kind has failed; empty: of any.
func (k *killer) failed(what string) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fails && k.kills > 0 && (what == "" || slices.Contains(k.struck, what))
}

// begin returns the context of a process, and what it does.
func (k *killer) begin(ctx context.Context, doing string) context.Context {
	k.mu.Lock()
	defer k.mu.Unlock()
	ctx, k.end = context.WithCancel(ctx)
	k.dead, k.doing, k.begins = false, doing, true
	return ctx
}

// Kinds are the kinds of calls at which processes ended, or which failed, in all tellings of stories. Of a kind are the
// calls at one place of the code, from where that is called; for a process that ends, of one step or other work.
type kinds struct {
	apart  int             // calls from one to the next
	last   int             // the call of the last one in this telling
	struck map[string]bool // by the kind, and whether after it took effect
}

// again returns the kinds for another telling.
func (k *kinds) again() *kinds {
	k.last = -k.apart
	return k
}

// strike decides whether a process ends before a call or after it, as far as either may be.
func (k *kinds) strike(kind string, call int, before, after bool) (ends, afterIt bool) {
	if call < k.last+k.apart {
		return false, false
	}
	for _, afterIt := range []bool{false, true} {
		moment := fmt.Sprintf("%s after=%v", kind, afterIt)
		if may := !afterIt && before || afterIt && after; may && !k.struck[moment] {
			k.struck[moment], k.last = true, call
			return true, afterIt
		}
	}
	return false, false
}

// site returns from where in the product's code, above the stores, a call is made.
func site() string {
	const module = "github.com/opledger/opledger/"
	var pcs [100]uintptr
	var site strings.Builder
	for frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])]); ; {
		frame, more := frames.Next()
		if name, ours := strings.CutPrefix(frame.Function, module); ours && !strings.Contains(name, "_test.") {
			fmt.Fprintf(&site, " %s:%d", path.Base(name), frame.Line)
		}
		if !more {
			return site.String()
		}
	}
}

type killedStore struct {
	ledger.Store
	*killer
}

func (s killedStore) Get(ctx context.Context, paths ...ledger.Path) (read ledger.Snapshot, err error) {
	err = s.point("get", false, func() (err error) {
		read, err = s.Store.Get(ctx, paths...)
		return err
	})
	return read, err
}

func (s killedStore) Query(ctx context.Context, q ledger.Query) (found []ledger.Document, err error) {
	err = s.point("query", false, func() (err error) {
		found, err = s.Store.Query(ctx, q)
		return err
	})
	return found, err
}

func (s killedStore) Count(ctx context.Context, q ledger.Query, ceiling int) (n int, err error) {
	err = s.point("count", false, func() (err error) {
		n, err = s.Store.Count(ctx, q, ceiling)
		return err
	})
	return n, err
}

func (s killedStore) Commit(ctx context.Context, writes ...ledger.Write) (tokens []ledger.Token, err error) {
	err = s.point("commit", true, func() (err error) {
		tokens, err = s.Store.Commit(ctx, writes...)
		return err
	})
	return tokens, err
}

type killedPublisher struct {
	ledger.Publisher
	*killer
}

func (p killedPublisher) Publish(ctx context.Context, m ledger.Message) error {
	return p.point("publish", true, func() error { return p.Publisher.Publish(ctx, m) })
}

type killedStorage struct {
	storage.Storage
	*killer
}

func (s killedStorage) Create(ctx context.Context, name string, content io.Reader) (o storage.Object, err error) {
	err = s.point("create", true, func() (err error) {
		o, err = s.Storage.Create(ctx, name, content)
		return err
	})
	return o, err
}

func (s killedStorage) Compose(ctx context.Context, name string, of []storage.Object) (o storage.Object, err error) {
	err = s.point("compose", true, func() (err error) {
		o, err = s.Storage.Compose(ctx, name, of)
		return err
	})
	return o, err
}

func (s killedStorage) Read(ctx context.Context, name string, offset, length int64) (r io.ReadCloser, err error) {
	err = s.point("read", false, func() (err error) {
		r, err = s.Storage.Read(ctx, name, offset, length)
		return err
	})
	return r, err
}

func (s killedStorage) Stat(ctx context.Context, name string) (o storage.Object, err error) {
	err = s.point("stat", false, func() (err error) {
		o, err = s.Storage.Stat(ctx, name)
		return err
	})
	return o, err
}

func (s killedStorage) Delete(ctx context.Context, name string) error {
	return s.point("delete", true, func() error { return s.Storage.Delete(ctx, name) })
}

func (s killedStorage) Names(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := s.point("names", false, func() error { return nil }); err != nil {
			yield("", err)
			return
		}
		s.Storage.Names(ctx, prefix)(yield)
	}
}

type killedTransport struct {
	http.RoundTripper
	*killer
}

func (t killedTransport) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	collection, last := path.Split(r.URL.Path)
	_, verb, _ := strings.Cut(last, ":")
	what := strings.TrimSuffix(r.Method+" "+path.Base(collection)+":"+verb, ":")
	err = t.point(what, r.Method != http.MethodGet, func() (err error) {
		if answer, err = t.RoundTripper.RoundTrip(r); err == nil {
			t.note(r.Method + " " + r.URL.Path)
		}
		return err
	})
	if err != nil && answer != nil {
		_ = answer.Body.Close() // it is not read
		return nil, err
	}
	return answer, err
}
