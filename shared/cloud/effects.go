package cloud

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
)

// Handlers returns the handler of each effect, by name: effect.Handlers, with what the settings say of all of them put into o,
// but for a Signer that is there already. Errors: those of EffectSigner, and those of effect.Handlers.
func Handlers(ctx context.Context, specs []effect.Spec, settings config.Handlers,
	o effect.HandlerOptions) (map[string]effect.Handler, error) {
	if o.Signer == nil {
		var err error
		if o.Signer, err = EffectSigner(ctx, settings); err != nil {
			return nil, err
		}
	}
	handlers, err := effect.Handlers(specs, withSettings(settings, o))
	if err != nil {
		return nil, fmt.Errorf("OPLEDGER_EFFECTS: %w", err)
	}
	return handlers, nil
}

// The times that Unperformable gives each effect, and all of them: connecting to Google heeds no context.
const (
	probeTimeout = 2 * time.Second
	allTimeout   = 3 * time.Second
)

// Unperformable returns, by the name of the effect, why no attempt at it can succeed as things are, as far as that can be told
// within 3 seconds. It takes what Handlers took.
func Unperformable(ctx context.Context, specs []effect.Spec, settings config.Handlers,
	o effect.HandlerOptions) map[string]error {
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
	for _, spec := range specs {
		go func() { findings <- finding{spec.Name, spec.Unperformable(probing, o)} }()
	}
	why := map[string]error{}
	for range specs {
		select {
		case f := <-findings:
			if f.err != nil {
				why[f.name] = f.err
			}
		case <-late.C:
			return why
		}
	}
	return why
}

func withSettings(settings config.Handlers, o effect.HandlerOptions) effect.HandlerOptions {
	o.AllowPrivate, o.Buckets = settings.AllowPrivate, effect.NewBuckets(settings.StorageEmulator)
	return o
}

// LateEffectSigner is EffectSigner for a process that starts without the secret, too: see effect.LateSigner. It returns nil
// where nothing is signed.
func LateEffectSigner(settings config.Handlers) *effect.Signer {
	if settings.Secret == "" {
		return nil
	}
	return effect.LateSigner(func(ctx context.Context) (*effect.Signer, error) { return EffectSigner(ctx, settings) })
}

// EffectSigner returns what signs the http effects, nil where nothing is signed: made of the secrets in the settings, or of the
// newest enabled version of their secret, as it is now. A version may hold several secrets, separated by white space, and each
// signs. A process that is to use a newer version is started again. The errors of the secret are those of
// secret.Client.Newest and effect.NewSigner; none holds a secret.
func EffectSigner(ctx context.Context, settings config.Handlers) (*effect.Signer, error) {
	if settings.Secret == "" {
		return nil, nil
	}
	text := settings.Secret
	if name, ok := settings.SecretName(); ok {
		var err error
		if text, err = newest(ctx, "OPLEDGER_EFFECT_SECRET", name, settings.SecretEmulator); err != nil {
			return nil, err
		}
	}
	signer, err := effect.NewSigner(strings.Fields(text)...)
	if err != nil {
		return nil, fmt.Errorf("OPLEDGER_EFFECT_SECRET: %w", err)
	}
	return signer, nil
}
