package open

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
)

// A ServeAddress says where one run of serve, or of local, answers that has a ledger in a file, for the commands on it.
// It stands in a file beside the ledger that only its owner can read.
type ServeAddress struct {
	URL string `json:"url"`
	// Key is that run's own. With it serve proves who it is, and a command that it may ask: after a SIGKILL
	// the file stays, and another program may have the port.
	Key string `json:"key"`
}

// Announce writes the address of a serve that begins, in a file of its own: several may share a ledger.
// The returned function removes it. What a serve that was killed has left is removed, too: nothing listens
// there, or this one does. A file that stays harms nothing, because it proves nothing.
func (l Location) Announce(ctx context.Context, address ServeAddress) (withdraw func(), err error) {
	if !l.IsFile() {
		return func() {}, nil
	}
	for _, file := range l.addressFiles() {
		if other, err := readAddress(file); err == nil && (other.URL == address.URL || other.refuses(ctx)) {
			_ = os.Remove(file)
		}
	}
	file, err := os.CreateTemp(filepath.Dir(l.SQLite), l.addressPrefix()+"*") // of mode 0600
	if err == nil {
		err = errors.Join(json.NewEncoder(file).Encode(address), file.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("writing the address of serve beside the ledger: %w", err)
	}
	return func() { _ = os.Remove(file.Name()) }, nil
}

// addressPrefix begins the names of the files with addresses.
func (l Location) addressPrefix() string { return filepath.Base(l.SQLite) + ".serve-" }

// addressFiles returns the files with addresses, that of the serve which began last first: its settings
// count [L7].
func (l Location) addressFiles() []string {
	if !l.IsFile() {
		return nil
	}
	entries, _ := os.ReadDir(filepath.Dir(l.SQLite)) // a folder that cannot be read names no serve
	began := map[string]time.Time{}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), l.addressPrefix()) {
			continue
		}
		if info, err := entry.Info(); err == nil {
			began[filepath.Join(filepath.Dir(l.SQLite), entry.Name())] = info.ModTime()
		}
	}
	return slices.SortedFunc(maps.Keys(began), func(a, b string) int { return began[b].Compare(began[a]) })
}

// readAddress reads what this user alone can have written: a server of another's could prove a key of its
// own. The error is ErrNotOwn where another user can.
func readAddress(file string) (address ServeAddress, err error) {
	text, err := ReadOwn(file)
	if err == nil {
		err = json.Unmarshal(text, &address)
	}
	if err == nil && (address.URL == "" || address.Key == "") {
		err = errors.New("it is no address of serve")
	}
	return address, err
}

// newServeClient returns a client without a proxy: serve is on this machine.
func newServeClient() *http.Client { return &http.Client{Transport: &http.Transport{}} }

// How long the serve that was announced may take to say that it is the one: before it is asked to do something, and
// before a page or status says how it is.
const (
	probeServe = 5 * time.Second
	lookServe  = 2 * time.Second
)

// A SilentServeError is that what listens where a serve was announced answers nothing: that serve hangs, or its process
// is stopped.
type SilentServeError struct{ URL string }

func (e *SilentServeError) Error() string {
	return overview.Serve{State: overview.ServeSilent, URL: e.URL}.Words()
}

// errAnother: nothing listens there any more, or another program does.
var errAnother = errors.New("the serve that was announced is not there")

// proves returns nil where the serve that was announced answers within that time, and a *SilentServeError where nothing
// does.
func (a ServeAddress) proves(ctx context.Context, client *http.Client, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	nonce := rand.Text()
	var health struct{ Proof string }
	err := askAt(ctx, client, http.MethodGet, a.URL+"/health?nonce="+nonce, "", nil, &health)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &SilentServeError{a.URL}
	case err != nil || !server.Proves(a.Key, nonce, health.Proof):
		return errAnother
	}
	return nil
}

// refuses reports whether nothing listens at the address. A serve that is slow, or stopped, does.
func (a ServeAddress) refuses(ctx context.Context) bool {
	at, err := url.Parse(a.URL)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, probeServe)
	defer cancel()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", at.Host)
	if err == nil {
		_ = connection.Close() // nothing was sent
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// ErrNoServe: no serve runs on the ledger. ErrServeGone, which wraps it: one did, and did not end in order.
var (
	ErrNoServe   = errors.New("no opledger serve runs on this ledger")
	ErrServeGone = fmt.Errorf("%w: it crashed, or was killed", ErrNoServe)
)

// AskServe sends a POST to a serve that runs on the ledger, and reads its answer. body is sent as JSON, and answer is
// what that of serve is read into; nil: there is none. The error is ErrNoServe, or ErrServeGone, where none runs, with
// ErrNotOwn where one of another user may, and a *SilentServeError where it does not answer. It wraps an
// *httpfunc.Error where serve refused.
func (l Location) AskServe(ctx context.Context, path string, body, answer any) error {
	return l.askServe(ctx, path, body, answer, probeServe)
}

// askServe is AskServe for a serve that proves within that time that it is the one.
func (l Location) askServe(ctx context.Context, path string, body, answer any, within time.Duration) error {
	client := newServeClient()
	defer client.CloseIdleConnections()
	var silent *SilentServeError
	var foreign error
	none := ErrNoServe
	for _, file := range l.addressFiles() {
		address, err := readAddress(file)
		if errors.Is(err, ErrNotOwn) {
			foreign = fmt.Errorf("%s: %w", file, err)
		}
		if err == nil {
			err = address.proves(ctx, client, within)
		}
		if hangs, ok := errors.AsType[*SilentServeError](err); ok && silent == nil {
			silent = hangs
		}
		if errors.Is(err, errAnother) {
			none = ErrServeGone
		}
		if err != nil {
			continue // another one may answer
		}
		if err := askAt(ctx, client, http.MethodPost, address.URL+path, address.Key, body, answer); err != nil {
			return fmt.Errorf("asking serve on %s: %w", address.URL, err)
		}
		return nil
	}
	switch {
	case silent != nil:
		return silent
	case foreign != nil:
		return fmt.Errorf("%w that this user may ask: %w; run the command as the user of serve", ErrNoServe, foreign)
	}
	return none
}

// Serve asks the serve that works on the ledger's file what it cannot perform now, and says whether one answers. Of
// another user's, and of a ledger that is no file, nothing is known.
func (l Location) Serve(ctx context.Context) overview.Serve {
	if !l.IsFile() {
		return overview.Serve{}
	}
	runs := overview.Serve{State: overview.ServeRuns}
	err := l.askServe(ctx, "/unperformable", nil, &runs.Unperformable, lookServe)
	silent, hangs := errors.AsType[*SilentServeError](err)
	switch {
	case hangs:
		return overview.Serve{State: overview.ServeSilent, URL: silent.URL}
	case errors.Is(err, ErrNotOwn):
		return overview.Serve{}
	case errors.Is(err, ErrServeGone):
		return overview.Serve{State: overview.ServeGone}
	case errors.Is(err, ErrNoServe):
		return overview.Serve{State: overview.ServeNone}
	}
	return runs // also if it said it otherwise, as one of another version may
}

// ServeAgain says how an operator has serve on the ledger again, after that error of AskServe.
func (l Location) ServeAgain(err error) string {
	var serve overview.Serve
	if _, silent := errors.AsType[*SilentServeError](err); silent {
		serve.State = overview.ServeSilent
	}
	return serve.Again(phrase.StoreFlag(l.Named()))
}

// ResumeEffects has a serve that runs on the ledger end its pause of effects, and reports whether it had one.
// serve logs who decided that, and why.
func (l Location) ResumeEffects(ctx context.Context, d ledger.Decision) (ended bool, err error) {
	var answer struct{ Ended bool }
	err = l.AskServe(ctx, "/resume", map[string]string{"by": d.By, "why": d.Why}, &answer)
	_, silent := errors.AsType[*SilentServeError](err)
	if silent || errors.Is(err, ErrNoServe) && !errors.Is(err, ErrNotOwn) {
		return false, fmt.Errorf("%w: %s, but without OPLEDGER_EFFECTS_PAUSED; effects run once it does", err,
			l.ServeAgain(err))
	}
	if err != nil {
		return false, fmt.Errorf("ending the pause of effects: %w", err)
	}
	return answer.Ended, nil
}

// askAt sends a request, and reads its answer, as AskServe does. One other than 200 is an *httpfunc.Error.
func askAt(ctx context.Context, client *http.Client, method, url, key string, body, into any) error {
	var payload io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, url, payload)
	if err != nil {
		return err
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	err = errors.Join(err, answer.Body.Close())
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return refusal(answer, said)
	case into == nil:
		return nil
	}
	return json.Unmarshal(said, into)
}

// refusal is the error of an answer other than 200.
func refusal(answer *http.Response, said []byte) error {
	var refused struct{ Error *httpfunc.Error }
	if json.Unmarshal(said, &refused) != nil || refused.Error == nil {
		return &httpfunc.Error{Status: answer.StatusCode, Message: answer.Status + ": " + strings.TrimSpace(string(said))}
	}
	return refused.Error
}
