// Package kinds is the table of what an effect can do. A kind is a room beside this one, which has its
// settings, their checks and its handler, and one row of the table.
package kinds

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/custom"
	"github.com/opledger/opledger/shared/effect/http"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/pubsub"
	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/effect/spec"
	fetch "github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// table returns the kinds. A row has the kind's name in the settings, and what its handlers need of the
// Options.
func table() []kind {
	return []kind{
		row[log.Do]("log", func(o Options) *slog.Logger { return o.Log }),
		row[http.Do]("http", func(o Options) http.Options {
			return http.Options{Read: o.Read, AllowPrivate: o.AllowPrivate, Signer: o.Signer, Now: o.Now}
		}),
		row[pubsub.Do]("pubsub", func(o Options) *pubsub.Topics { return o.Topics }),
		row[custom.Do]("custom", func(o Options) map[string]effect.Handler { return o.Custom }),
		row[results.Do]("results", func(o Options) results.ObjectOptions {
			return results.ObjectOptions{Buckets: o.Buckets, Results: o.Results, Log: o.Log, Now: o.Now}
		}),
	}
}

// Options are what handlers take beside their specs.
type Options struct {
	Log          *slog.Logger
	AllowPrivate bool
	// Signer signs what http sends; nil sends it unsigned.
	Signer *http.Signer
	// Read returns what a Source names. Its errors hold nothing of it.
	Read func(context.Context, spec.Source) (string, error)
	// Topics are what pubsub publishes to. The caller closes them when nothing runs any more.
	Topics *pubsub.Topics
	// Custom are the team's own handlers, by the name of the effect that each performs.
	Custom map[string]effect.Handler
	// Ledger is for effects that run once per item, Results for those that read a batch's result,
	// Buckets for those that write it to Cloud Storage.
	Ledger  *ledger.Ledger
	Results *fetch.Client
	Buckets *storage.Buckets
	Now     func() time.Time
}

// A kind is a row of the table. Its functions are for specs whose Action it has.
type kind struct {
	spec.Kind
	has           func(spec.Action) bool
	handler       func(spec.Spec, Options) (effect.Handler, error)
	unperformable func(context.Context, spec.Spec, Options) error
}

// An action is the settings D of a kind whose handlers need an O.
type action[D, O any] interface {
	*D
	spec.Action
	// Handler returns what performs the effect. The error is of what only o shows.
	Handler(s spec.Spec, o O) (effect.Handler, error)
	// Unperformable returns why no attempt can succeed as things are: see the function of that name.
	Unperformable(ctx context.Context, o O) error
}

func row[D, O any, A action[D, O]](name string, needs func(Options) O) kind {
	return kind{
		Kind: spec.Kind{Name: name, New: func() spec.Action { return A(new(D)) }},
		has: func(do spec.Action) bool {
			_, ok := do.(A)
			return ok
		},
		handler: func(s spec.Spec, o Options) (effect.Handler, error) { return s.Do.(A).Handler(s, needs(o)) },
		unperformable: func(ctx context.Context, s spec.Spec, o Options) error {
			return s.Do.(A).Unperformable(ctx, needs(o))
		},
	}
}

func kindOf(s spec.Spec) kind {
	all := table()
	return all[slices.IndexFunc(all, func(k kind) bool { return k.has(s.Do) })]
}

// ParseSpecs is [spec.Parse] with the kinds of the table.
func ParseSpecs(text []byte, allowed operation.Transitions) ([]spec.Spec, error) {
	var all []spec.Kind
	for _, k := range table() {
		all = append(all, k.Kind)
	}
	return spec.Parse(text, all, allowed)
}

// Default is what runs where the settings name no effect: every completion is logged.
func Default() []spec.Spec {
	return []spec.Spec{{
		Name: "log", Do: &log.Do{},
		On: []operation.State{operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired},
	}}
}

// Handlers returns the handler of each effect, by name. The specs are as ParseSpecs or Default
// returned them. The error joins what only both arguments show: pubsub.ErrNoProject,
// custom.ErrNoHandler.
func Handlers(specs []spec.Spec, o Options) (map[string]effect.Handler, error) {
	handlers := make(map[string]effect.Handler, len(specs))
	var p diag.Problems
	for _, s := range specs {
		handler, err := kindOf(s).handler(s, o)
		p.When(err != nil, "effect %q: %w", s.Name, err)
		if s.EachItem() {
			handler = items.Each(handler, items.Options{
				Ledger: o.Ledger, Results: o.Results, Log: o.Log, ByPosition: s.ByPosition(),
			})
		}
		handlers[s.Name] = handler
	}
	if err := errors.Join(p...); err != nil {
		return nil, err
	}
	return handlers, nil
}

// Unperformable returns why no attempt at the effect of s can succeed as things are; nil where one
// may. It judges what can be known without an attempt: the address of http and its secrets; of the
// others the Google credentials, and whether the topic or the bucket exists. It never asks a receiver
// whether an effect happened [S8]. o is as for Handlers. What is not known before ctx ends counts as
// good, except a secret.
func Unperformable(ctx context.Context, s spec.Spec, o Options) error {
	return kindOf(s).unperformable(ctx, s, o)
}
