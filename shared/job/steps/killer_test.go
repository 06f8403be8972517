package steps_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/storage"
)

var errKilled = errors.New("the process was killed")

// A killer ends a process, or lets a call fail, at one of its calls to the outside: of the ledger's store, of job
// storage, to Gemini, to the queue, or of the user's effect.
type killer struct {
	first int  // the call at which a process ends
	every int  // and again after so many; 0: at no other
	after bool // the call took effect; those that only read are not counted, because it has none
	fails bool // the call fails, and the process lives on

	mu     sync.Mutex
	calls  int
	kills  int
	struck string          // the last call at which a process ended
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
	ends, err := k.next(what, writes)
	if err != nil {
		return err
	}
	if ends && !k.after {
		return errKilled
	}
	if err = call(); ends {
		return errKilled // no process is there to see what came of it
	}
	return err
}

// next counts a call, and reports whether the process ends with it.
func (k *killer) next(what string, writes bool) (ends bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return false, errKilled
	}
	if k.after && !writes {
		return false, nil
	}
	k.calls++
	behind := k.calls - k.first
	ends = behind == 0 || behind > 0 && k.every > 0 && behind%k.every == 0
	if ends {
		k.kills, k.struck = k.kills+1, what
	}
	if k.dead = ends && !k.fails; k.dead {
		k.end()
	}
	return ends, nil
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
	return k.fails && k.kills > 0 && (what == "" || what == k.struck)
}

// begin returns the context of a process.
func (k *killer) begin(ctx context.Context) context.Context {
	k.mu.Lock()
	defer k.mu.Unlock()
	ctx, k.end = context.WithCancel(ctx)
	k.dead = false
	return ctx
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
