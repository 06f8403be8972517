package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// This program is also the handlers that serve is compared with, in processes of their own. Variables
// say which one, and the file that it commits to.
const (
	roleVariable = "OPLEDGER_LOAD_ROLE"
	fileVariable = "OPLEDGER_LOAD_FILE"
	bare         = "bare"
	commit       = "commit"
)

// play serves as a handler of the functions framework until the process ends. It prints its address.
func play(role string, out io.Writer) error {
	switch role {
	case simulated:
		return playGemini(os.Getenv(fileVariable), os.Getenv(simulationVariable), out)
	case plain, plainWithKeys:
		return runPlain(os.Getenv(geminiVariable), os.Getenv(inputVariable), os.Getenv(fileVariable), role == plainWithKeys)
	}
	ctx := context.Background()
	take := func(context.Context) error { return nil }
	if role == commit {
		var err error
		if take, err = committer(ctx, os.Getenv(fileVariable)); err != nil {
			return err
		}
	}
	err := funcframework.RegisterHTTPFunctionContext(ctx, "/", func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		if err == nil {
			err = take(r.Context())
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"outcome": "bare"})
	})
	if err != nil {
		return fmt.Errorf("registering the handler: %w", err)
	}
	// The framework wants a port, and does not say when it listens.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("finding a free port: %w", err)
	}
	address := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil {
		return fmt.Errorf("finding a free port: %w", err)
	}
	go func() {
		for {
			if c, err := net.Dial("tcp", address.String()); err == nil {
				_ = c.Close()
				_, _ = fmt.Fprintf(out, "http://%s\n", address)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return funcframework.StartHostPort(address.IP.String(), strconv.Itoa(address.Port))
}

// committer returns a function that makes one commit of the documents that Ingest makes of a distinct
// delivery, under another key each time.
func committer(ctx context.Context, file string) (func(context.Context) error, error) {
	store, err := sqlite.Open(ctx, file, time.Now)
	if err != nil {
		return nil, err
	}
	made := &capture{Store: store}
	l, err := ledger.New(made, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		return nil, err
	}
	sample := distinct(0)
	event, err := gemini.DecodeEvent(sample.id, sample.body)
	if err == nil {
		_, err = l.Operations.Ingest(ctx, event)
	}
	if err != nil {
		return nil, fmt.Errorf("ingesting a sample: %w", err)
	}
	var last atomic.Int64
	return func(ctx context.Context) error {
		key := event.Key + operation.Key(fmt.Sprintf("-%d", last.Add(1)))
		writes := make([]ledger.Write, len(made.writes))
		for i, w := range made.writes {
			under := strings.TrimPrefix(string(w.Path), string(ledger.OperationPath(event.Key)))
			w.Path = ledger.OperationPath(key) + ledger.Path(under)
			writes[i] = w
		}
		_, err := store.Commit(ctx, writes...)
		return err
	}, nil
}

// A capture keeps what was committed last.
type capture struct {
	ledger.Store
	writes []ledger.Write
}

func (c *capture) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if len(writes) == 0 {
		return nil, errors.New("a commit without writes")
	}
	c.writes = writes
	return c.Store.Commit(ctx, writes...)
}
