package batches

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// ErrRefused is wrapped by an error of Create after which no batch runs for certain.
var ErrRefused = errors.New("no batch was created")

// A Request is one batch to create.
type Request struct {
	// Model is a name such as gemini-3.5-flash, with or without models/ in front.
	Model string
	// Embed: the requests are of embeddings.
	Embed bool
	// File is the name of the uploaded requests, as files/….
	File string
	// CorrelationID marks the batch, so that its list and its events name the submitter's own id. It must
	// be one that [gemini.CheckCorrelationID] takes.
	CorrelationID string
}

// Create creates a batch of a file, and returns its name. It sends one request at most. It must not be
// repeated before it is known that no batch runs.
//
// An error that wraps ErrRefused says so: Gemini refused the creation, or it was never sent. The *[api.Error]
// is beside it where Gemini answered, and [CauseOf] says why. After any other error the batch may run: the
// answer was lost, was a failure of Gemini's, or names no batch.
func (c *Client) Create(ctx context.Context, r Request) (operation.Name, error) {
	path, err := r.path()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return operation.Name{}, refused(err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	ctx, unsent := watchConnection(ctx)
	var answer struct {
		Name string `json:"name"`
	}
	if err := c.api.Call(ctx, http.MethodPost, path, nil, r.body(), &answer); err != nil {
		said, answered := errors.AsType[*api.Error](err)
		if answered && (said.Refused() || said.Status == http.StatusTooManyRequests) || unsent() {
			return operation.Name{}, refused(err)
		}
		return operation.Name{}, fmt.Errorf("creating a batch, which may run: %w", err)
	}
	name, err := operation.ParseName(answer.Name, "")
	if err != nil || name.Key.Collection() != operation.Batches {
		return operation.Name{}, fmt.Errorf("creating a batch, which may run: the answer names %s, which is no batch",
			diag.QuoteUpTo(c.api.Redact(answer.Name, maxQuoted), maxQuoted))
	}
	return name, nil
}

func refused(err error) error { return fmt.Errorf("%w: %w", ErrRefused, err) }

// watchConnection returns a context for one request, and a function that reports whether no connection was
// there to send it on: none could be made, or in time. A transport other than net/http's may report nothing
// of its connections, and then has perhaps sent it.
func watchConnection(ctx context.Context) (context.Context, func() bool) {
	var sought, found atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { sought.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { found.Store(true) },
	}), func() bool { return sought.Load() && !found.Load() }
}

// path is the address of the creation. The error wraps errRequest.
func (r Request) path() (string, error) {
	if err := gemini.CheckCorrelationID(r.CorrelationID); err != nil {
		return "", fmt.Errorf("%w: %w", errRequest, err)
	}
	model := r.Model
	if !strings.HasPrefix(model, "models/") && !strings.HasPrefix(model, "tunedModels/") { // as the SDK does
		model = "models/" + model
	}
	if !modelName().MatchString(model) {
		return "", fmt.Errorf("%w: %s is not a model's name, such as gemini-3.5-flash",
			errRequest, diag.QuoteUpTo(r.Model, maxQuoted))
	}
	if r.Embed {
		return model + ":asyncBatchEmbedContent", checkFile(r.File)
	}
	return model + ":batchGenerateContent", checkFile(r.File)
}

// body is what the SDK sends for the same. A batch of embeddings has no webhookConfig.
func (r Request) body() any {
	type inputConfig struct {
		FileName  string `json:"fileName,omitempty"`
		EmbedName string `json:"file_name,omitempty"` // the same field, as the SDK writes it for embeddings
	}
	type webhookConfig struct {
		UserMetadata map[string]string `json:"userMetadata"`
	}
	type batch struct {
		DisplayName   string         `json:"displayName"`
		InputConfig   inputConfig    `json:"inputConfig"`
		WebhookConfig *webhookConfig `json:"webhookConfig,omitempty"`
	}
	b := batch{DisplayName: gemini.DisplayName("", r.CorrelationID), InputConfig: inputConfig{EmbedName: r.File}}
	if !r.Embed {
		b.InputConfig = inputConfig{FileName: r.File}
		b.WebhookConfig = &webhookConfig{map[string]string{gemini.CorrelationKey: r.CorrelationID}}
	}
	return struct {
		Batch batch `json:"batch"`
	}{b}
}
