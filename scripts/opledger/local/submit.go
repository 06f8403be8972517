package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/genai"

	registerfn "github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/operation"
)

// A submitter starts batches at Gemini through the SDK and registers them, as a nightly job does.
type submitter struct {
	gemini    *genai.Client
	functions string // URL
	http      http.Client

	mu         sync.Mutex
	registered []operation.Key // whose registration was answered 2xx
}

// acked returns the operations whose registration was acknowledged.
func (s *submitter) acked() []operation.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.registered)
}

func newSubmitter(ctx context.Context, geminiURL, functionsURL string) (*submitter, error) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: APIKey, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: geminiURL},
	})
	if err != nil {
		return nil, fmt.Errorf("making a Gemini client: %w", err)
	}
	return &submitter{gemini: client, functions: functionsURL, http: http.Client{Transport: &http.Transport{}}}, nil
}

// model is what every batch asks.
const model = "gemini-3.5-flash"

// attempts bounds the attempts at a request that the simulator's faults fail.
const attempts = 20

// submit starts n batches within about that time, and registers each as soon as its name is known.
func (s *submitter) submit(ctx context.Context, n int, within time.Duration) error {
	defer s.http.CloseIdleConnections()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	pace := time.Tick(max(within/time.Duration(n), time.Microsecond))
	for i := range n {
		select {
		case <-pace:
		case <-ctx.Done():
			return group.Wait()
		}
		group.Go(func() error {
			name, err := s.create(ctx, fmt.Sprintf("nightly-%03d", i+1))
			if err != nil {
				return err
			}
			return s.register(ctx, name)
		})
	}
	return group.Wait()
}

// create starts a batch. After a lost answer a batch stays unregistered, and its completion runs no
// effect.
func (s *submitter) create(ctx context.Context, displayName string) (string, error) {
	var err error
	for range attempts {
		var job *genai.BatchJob
		job, err = s.gemini.Batches.Create(ctx, model, &genai.BatchJobSource{FileName: "files/reviews"},
			&genai.CreateBatchJobConfig{DisplayName: displayName})
		if err == nil {
			return job.Name, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return "", fmt.Errorf("submitting %s: %w", displayName, err)
}

func (s *submitter) register(ctx context.Context, name string) error {
	body, err := json.Marshal(registerfn.Request{
		Name: name, Submission: operation.Submission{JobKind: "batch-review-classify"},
	})
	if err != nil {
		return fmt.Errorf("encoding the registration of %s: %w", name, err)
	}
	for range attempts {
		if err = s.post(ctx, body); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("registering %s: %w", name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.registered = append(s.registered, operation.Key(name)) // the simulator's names are keys
	return nil
}

func (s *submitter) post(ctx context.Context, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.functions+"/register", bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := s.http.Do(request)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(response.Body) // to its end, after which the connection is used again
	if response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", response.Status, said)
	}
	return errors.Join(err, response.Body.Close())
}
