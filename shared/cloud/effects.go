package cloud

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/pubsub"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/storage"
)

// Handlers returns the handler of each effect, by the effect's name. It is kinds.Handlers with the
// settings put into o; a Signer in o is kept. Its errors are those of EffectSigner and
// kinds.Handlers. They, and those of the handlers, name the setting to change.
func Handlers(ctx context.Context, specs []spec.Spec, settings config.Handlers,
	o kinds.Options) (map[string]effect.Handler, error) {
	if o.Signer == nil {
		var err error
		if o.Signer, err = EffectSigner(ctx, settings); err != nil {
			return nil, err
		}
	}
	handlers, err := kinds.Handlers(specs, withSettings(settings, o))
	if err != nil {
		return nil, handlerErrors(err)
	}
	for name, handler := range handlers {
		handlers[name] = effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
			writes, err := handler.Perform(ctx, task)
			return writes, withRemedy(err)
		})
	}
	return handlers, nil
}

// CheckHandlers returns the problems of the effects that only their handlers can find, joined.
// project is that of topics that do not name one; it may be empty. It makes no connection.
func CheckHandlers(specs []spec.Spec, project string, custom map[string]effect.Handler) error {
	o := kinds.Options{Log: slog.New(slog.DiscardHandler), Topics: pubsub.NewTopics(project), Custom: custom}
	_, err := kinds.Handlers(specs, o)
	return handlerErrors(err)
}

const (
	// probeTimeout is the time that Unperformable gives each effect.
	probeTimeout = 2 * time.Second
	// grace is how much later it gives up: connecting to Google ignores the context.
	grace = time.Second
)

// Unperformable returns, by the effect's name, why no attempt at it can succeed now, as far as that
// can be found out within 3 s. Its arguments are those of Handlers.
func Unperformable(ctx context.Context, specs []spec.Spec, settings config.Handlers,
	o kinds.Options) map[string]error {
	o = withSettings(settings, o)
	checks := map[string]func(context.Context) error{}
	for _, s := range specs {
		checks[s.Name] = func(ctx context.Context) error { return kinds.Unperformable(ctx, s, o) }
	}
	return failed(ctx, probeTimeout, checks)
}

// UnusableTopic returns why no effect can be run that is published to the topic of a command, as
// far as that can be found out within a time; nil where it may be possible.
func UnusableTopic(ctx context.Context, topics *pubsub.Topics, name string, within time.Duration) error {
	check := func(ctx context.Context) error { return topics.Check(ctx, name) }
	if err := failed(ctx, within, map[string]func(context.Context) error{name: check})[name]; err != nil {
		return fmt.Errorf("OPLEDGER_TOPIC: %w", err)
	}
	return nil
}

// failed makes checks at once, and returns the errors of those that end in time, each with its remedy.
func failed(ctx context.Context, within time.Duration, checks map[string]func(context.Context) error) map[string]error {
	type finding struct {
		name string
		err  error
	}
	findings := make(chan finding, len(checks)) // with room for those that come too late
	probing, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for name, check := range checks {
		go func() { findings <- finding{name, check(probing)} }()
	}
	why, late := map[string]error{}, time.After(within+grace)
	for range checks {
		select {
		case f := <-findings:
			if f.err != nil {
				why[f.name] = withRemedy(f.err)
			}
		case <-late:
			return why
		}
	}
	return why
}

func withSettings(settings config.Handlers, o kinds.Options) kinds.Options {
	o.AllowPrivate, o.Buckets = settings.AllowPrivate, storage.NewBuckets(settings.StorageEmulator)
	o.Read = func(ctx context.Context, from spec.Source) (string, error) {
		if from.Variable == "" {
			return latest(ctx, from.Secret, settings.SecretEmulator)
		}
		text, ok := os.LookupEnv(from.Variable)
		if !ok {
			return "", fmt.Errorf("the variable %s is not set; set it for this process", from.Variable)
		}
		return text, nil
	}
	return o
}
