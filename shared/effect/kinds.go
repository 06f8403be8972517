package effect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
)

// A kind is a row of the table of what an effect can do.
type kind struct {
	name string        // what stands after "do:" in the settings
	new  func() Action // one without settings, to be read into
}

// kinds is the table. A new kind is one file, which has its Action and its row, and one line here.
func kinds() []kind {
	return []kind{logKind, httpKind, pubsubKind, customKind, resultsKind}
}

// An Action is what an effect does, with the settings that only its kind has: one of the Do types.
type Action interface {
	// fields are the settings of the kind.
	fields() []field
	// check reports what is wrong with them. What could not be read is not reported again.
	check(s Spec, wrong report)
	// handler returns what performs the effect. The error is of what only the options show.
	handler(s Spec, o HandlerOptions) (Handler, error)
	// unperformable returns why no attempt can succeed as things are: see Spec.Unperformable.
	unperformable(ctx context.Context, o HandlerOptions) error
}

// HandlerOptions are what handlers take beside their specs.
type HandlerOptions struct {
	Log          *slog.Logger
	AllowPrivate bool
	// Signer signs what DoHTTP sends; nil sends it unsigned.
	Signer *Signer
	// Read returns what a Source names, for DoHTTP. Its errors hold nothing of it.
	Read func(context.Context, Source) (string, error)
	// Topics are what DoPubSub publishes to. The caller closes them when nothing runs any more.
	Topics *Topics
	// Custom are the team's own handlers, by the name of the effect that each performs.
	Custom map[string]Handler
	// Ledger is for effects that run once per item, Results for those that read a batch's result,
	// Buckets for those that write it to Cloud Storage.
	Ledger  *ledger.Ledger
	Results *results.Client
	Buckets *Buckets
	Now     func() time.Time
}

// Handlers returns the handler of each effect, by name. The specs are as ParseSpecs or Default
// returned them. The error joins what only both arguments show: ErrNoProject, ErrNoHandler.
func Handlers(specs []Spec, o HandlerOptions) (map[string]Handler, error) {
	handlers := make(map[string]Handler, len(specs))
	var problems []error
	for _, s := range specs {
		handler, err := s.Do.handler(s, o)
		if err != nil {
			problems = append(problems, fmt.Errorf("effect %q: %w", s.Name, err))
		}
		if s.EachItem() {
			handler = Each(handler, EachOptions{
				Ledger: o.Ledger, Results: o.Results, Log: o.Log, ByPosition: s.Unkeyed == byPosition,
			})
		}
		handlers[s.Name] = handler
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return handlers, nil
}

// Unperformable returns why no attempt at the effect of s can succeed as things are; nil where one
// may. It judges what can be known without an attempt: the address of DoHTTP and its secrets; of
// the others the Google credentials, and whether the topic or the bucket exists. It never asks a
// receiver whether an effect happened [S8]. o is as for Handlers. What is not known before ctx ends
// counts as good, except a secret.
func (s Spec) Unperformable(ctx context.Context, o HandlerOptions) error {
	return s.Do.unperformable(ctx, o)
}
