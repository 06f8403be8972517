package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	effectsfn "github.com/opledger/opledger/functions/effects"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/cloud/connect"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/ledger"
)

// newEffects makes the function that runs effects, with their handlers.
func (s *Server) newEffects(ctx context.Context, settings Settings) error {
	custom, err := effectsfn.Custom(ctx, s.options.Log)
	if err != nil {
		return fmt.Errorf("making the custom handlers: %w", err)
	}
	if s.jobs, err = cloud.JobStorage(settings.Jobs.In(s.options.Location), settings.Handlers); err != nil {
		return err
	}
	items, err := cloud.Results(ctx, settings.Results, s.jobs)
	if err != nil {
		return err
	}
	s.handlers = kinds.Options{
		Log: s.options.Log, Topics: s.topics, Custom: custom, Ledger: s.Ledger, Results: items, Now: s.options.Now,
	}
	if s.options.LateSecret {
		s.handlers.Signer = cloud.LateEffectSigner(settings.Handlers)
	}
	handlers, err := cloud.Handlers(ctx, settings.Ledger.Effects, settings.Handlers, s.handlers)
	if err != nil {
		return err
	}
	err = cloud.AddSteps(ctx, handlers, settings.Gemini, steps.Options{
		Ledger: s.Ledger, Storage: s.jobs, Results: items, Now: s.options.Now, Log: s.options.Log,
	})
	if err != nil {
		return err
	}
	s.effects = effectsfn.New(effectsfn.Options{
		Runner: effect.NewRunner(s.Ledger, handlers), Paused: settings.Handlers.Paused, Now: s.options.Now,
		Log:         s.options.Log,
		Concurrency: steps.Concurrency(spec.Concurrency(settings.Ledger.Effects)), Later: s.queue.Later,
	})
	return nil
}

// Publish publishes an operator's message as the server does: to the topic, or to the queue inside the
// process, for Drain. Where that is full, or the effects are left to another process, it records in the ledger what
// the message asks for, for a sweep; where that changes nothing, the log says why.
func (s *Server) Publish(ctx context.Context, m ledger.Message) error {
	switch {
	case s.options.Publisher != nil:
		return s.options.Publisher.Publish(ctx, m)
	case s.leaves(m.Effect):
		s.left.Store(true)
	default:
		if err := s.queue.Publish(ctx, m); !errors.Is(err, ledger.ErrQueueFull) {
			return err
		}
	}
	_, err := s.Ledger.Effects.Replay(ctx, m)
	if errors.Is(err, ledger.ErrReplay) {
		s.options.Log.WarnContext(ctx, "a message changed nothing", "event", "effect", "outcome", effect.Skipped,
			"operation", m.Operation, "effect", m.Effect, "error", err)
		return nil
	}
	return err
}

// Run hands one message to the function that runs effects, unless they are paused, and returns the outcome. Messages
// that it publishes inside this process wait for Drain. The error is in the log.
func (s *Server) Run(ctx context.Context, m ledger.Message) (effect.Report, error) {
	paused, err := s.Paused(ctx)
	if err != nil {
		s.options.Log.ErrorContext(ctx, "an effect is not run", "event", "effect", "outcome", "error", "operation",
			m.Operation, "effect", m.Effect, "error", err)
		return effect.Report{}, err
	}
	effects := s.effects
	effects.Paused = paused
	return effects.Run(ctx, m)
}

// Drain handles the messages in the queue inside this process, once each, or tells the process that
// runs effects that some are due. The error of that is only of its haste.
func (s *Server) Drain(ctx context.Context) {
	s.queue.Drain(ctx, s.run)
	_ = s.Wake(ctx)
}

// Wake tells the process that runs effects that some are due, if this one has left any to it since the
// last time. After an error they wait for that process's next sweep.
func (s *Server) Wake(ctx context.Context) error {
	if !s.left.Swap(false) {
		return nil
	}
	if s.options.Wake == nil {
		return s.options.WakeForSteps(ctx)
	}
	return s.options.Wake(ctx)
}

// leaves reports whether this process leaves an effect of this name to another one. A step that it tried without the
// API key would have to wait there until the next attempt.
func (s *Server) leaves(name string) bool {
	return s.options.Wake != nil || s.options.WakeForSteps != nil && !s.settings.Gemini.IsSet() && job.IsStep(name)
}

// inside is the Publisher of a process without a topic: to its queue, unless it leaves the effect to another process,
// which finds it in the outbox.
type inside struct{ *Server }

func (i inside) Publish(ctx context.Context, m ledger.Message) error {
	if i.leaves(m.Effect) {
		i.left.Store(true)
		return nil
	}
	return i.queue.Publish(ctx, m)
}

// StoreSettings stores what decides what is planned, for commands on the same ledger [L7]. What was
// stored before and differs is logged: it counts no more. by is what this process is called. Call it
// before anything says that the server is ready. The errors are in the log.
//
// It returns which effects are left out, in words: they were planned before and are not now, as after a start in a
// shell without OPLEDGER_EFFECTS. The overview says so, too.
func (s *Server) StoreSettings(ctx context.Context, by string) (leftOut []string) {
	connect.StoreSettings(ctx, s.Ledger, s.settings.Ledger, by, s.options.Log)
	all, err := s.Ledger.Effects.LeftOut(ctx)
	if err != nil {
		s.options.Log.WarnContext(ctx, "it is not known which effects are left out", "event", "settings", "outcome",
			"error", "error", err)
	}
	for _, effect := range all {
		if effect.Lasts() && effect.Resolved == nil {
			leftOut = append(leftOut, overview.LeftOutWords(effect, true))
		}
	}
	return leftOut
}

// run makes an attempt at an effect. It drops the error, which is in the log and, if it could be
// recorded, in the ledger.
func (s *Server) run(ctx context.Context, m ledger.Message) (again bool, after time.Duration) {
	tries, putOff := s.outage.begin(s.options.Now())
	if putOff > 0 {
		return true, putOff
	}
	report, err := s.Run(ctx, m)
	s.outage.end(s.options.Now(), tries, err)
	if err != nil {
		return true, firstOutageWait
	}
	return report.Again(), report.RetryAfter
}
