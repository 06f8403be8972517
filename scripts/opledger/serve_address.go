package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/config"
)

// A serveAddress says where serve answers that has a ledger in a file. It stands beside that file, for
// the commands on it.
type serveAddress struct {
	URL string `json:"url"`
	// Instance is what GET /health answers: another program may have the port since.
	Instance string `json:"instance"`
}

// addressFile is the file of serve's address beside the ledger; empty where the ledger is no file.
func (l location) addressFile() string {
	if l.SQLite == "" {
		return ""
	}
	return l.SQLite + ".serve"
}

// announce writes the address of a serve that begins. The returned function removes it, unless
// another one has begun since.
func (l location) announce(address serveAddress) (withdraw func(), err error) {
	file := l.addressFile()
	if file == "" {
		return func() {}, nil
	}
	text, err := json.Marshal(address)
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("writing the address of serve beside the ledger: %w", err)
	}
	return func() {
		if now, ok := l.announced(); ok && now == address {
			_ = os.Remove(file) // one that stays names an instance that answers no more
		}
	}, nil
}

// announced returns the address beside the ledger, if there is one.
func (l location) announced() (address serveAddress, ok bool) {
	file := l.addressFile()
	if file == "" {
		return serveAddress{}, false
	}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &address) != nil {
		return serveAddress{}, false
	}
	return address, address.URL != "" && address.Instance != ""
}

// errNoServe: no serve runs on the ledger.
var errNoServe = errors.New("no opledger serve runs on this ledger")

// probeServe is how long the serve that was announced may take to say that it is the one.
const probeServe = 5 * time.Second

// askServe sends a POST without a body to the serve that runs on the ledger, and returns its answer.
// The error is errNoServe where none runs.
func (l location) askServe(ctx context.Context, outside environment, path string) ([]byte, error) {
	address, ok := l.announced()
	if !ok {
		return nil, errNoServe
	}
	client := &http.Client{Transport: &http.Transport{}} // no proxy: it is on this machine
	defer client.CloseIdleConnections()
	probe, cancel := context.WithTimeout(ctx, probeServe)
	defer cancel()
	var health struct{ Instance string }
	body, err := askAt(probe, client, http.MethodGet, address.URL+"/health", "")
	if err != nil || json.Unmarshal(body, &health) != nil || health.Instance != address.Instance {
		return nil, errNoServe // the token is for that instance alone
	}
	token, err := outside.serveToken(l)
	if err == nil {
		body, err = askAt(ctx, client, http.MethodPost, address.URL+path, token)
	}
	if err != nil {
		return nil, fmt.Errorf("asking serve on %s: %w", address.URL, err)
	}
	return body, nil
}

// askAt sends a request without a body. An answer other than 200 is an error.
func askAt(ctx context.Context, client *http.Client, method, url, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	err = errors.Join(err, answer.Body.Close())
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, strings.TrimSpace(string(body)))
	}
	return body, err
}

// serveToken is the token for the serve on a ledger: that of the environment, or of its own file.
func (e environment) serveToken(where location) (string, error) {
	for _, variable := range only(e.variables, "OPLEDGER_SERVE_TOKEN", "OPLEDGER_TOKEN") {
		if _, token, _ := strings.Cut(variable, "="); token != "" && token != config.NoToken {
			return token, nil
		}
	}
	file, err := tokenFile(where)
	if err != nil {
		return "", err
	}
	token, err := readToken(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // it asks for none
	}
	return token, err
}
