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

// The times that Unperformable gives each effect, and all of them: connecting to Google ignores the
// context.
const (
	probeTimeout = 2 * time.Second
	allTimeout   = 3 * time.Second
)

// Unperformable returns, by the effect's name, why no attempt at it can succeed now, as far as that
// can be found out within 3 s. Its arguments are those of Handlers.
func Unperformable(ctx context.Context, specs []spec.Spec, settings config.Handlers,
	o kinds.Options) map[string]error {
	o = withSettings(settings, o)
	type finding struct {
		name string
		err  error
	}
	findings := make(chan finding, len(specs)) // with room for those that come too late
	probing, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	late := time.NewTimer(allTimeout)
	defer late.Stop()
	for _, s := range specs {
		go func() { findings <- finding{s.Name, kinds.Unperformable(probing, s, o)} }()
	}
	why := map[string]error{}
	for range specs {
		select {
		case f := <-findings:
			if f.err != nil {
				why[f.name] = withRemedy(f.err)
			}
		case <-late.C:
			return why
		}
	}
	return why
}

// UnusableTopic returns why no effect can be run that is published to the topic of a command, as
// far as that can be found out within a time; nil where it may be possible.
func UnusableTopic(ctx context.Context, topics *pubsub.Topics, name string, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	checked := make(chan error, 1)
	go func() { checked <- topics.Check(ctx, name) }() // connecting to Google ignores the context
	late := time.NewTimer(within + allTimeout - probeTimeout)
	defer late.Stop()
	select {
	case err := <-checked:
		if err != nil {
			return fmt.Errorf("OPLEDGER_TOPIC: %w", withRemedy(err))
		}
	case <-late.C:
	}
	return nil
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
