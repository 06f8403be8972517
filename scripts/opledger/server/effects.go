package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	effectsfn "github.com/opledger/opledger/functions/effects"
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

// defaultTopicTimeout is how long Pub/Sub may take to answer before a topic is taken for usable.
const defaultTopicTimeout = 2 * time.Second

// CheckEffects logs each effect that cannot succeed now, and returns a line for each, in the order
// of their names: its address is private, its topic does not exist, or a secret or credentials are
// missing. Before them come the topic that all are published to, and job storage, where the settings name
// one. Such effects are planned and tried all the same, because that may be fixed later. It takes 8 seconds
// at most.
func (s *Server) CheckEffects(ctx context.Context) []string {
	var lines []string
	if s.options.Topic != "" {
		within := cmp.Or(s.options.TopicTimeout, defaultTopicTimeout)
		if why := cloud.UnusableTopic(ctx, s.topics, s.options.Topic, within); why != nil {
			s.options.Log.WarnContext(ctx, "no effect can be run now", "event", "effect", "outcome", "unperformable",
				"reason", "settings", "error", why)
			lines = append(lines, "no effect can be run now: "+oneLine(why))
		}
	}
	if why := s.checkJobs(ctx); why != nil {
		s.options.Log.WarnContext(ctx, "no job can be run now", "event", "job", "outcome", "unperformable",
			"reason", "settings", "error", why)
		lines = append(lines, "no job can be run now: OPLEDGER_JOB_STORAGE: "+oneLine(why))
	}
	why := cloud.Unperformable(ctx, s.settings.Ledger.Effects, s.settings.Handlers, s.handlers)
	for _, name := range slices.Sorted(maps.Keys(why)) {
		s.options.Log.WarnContext(ctx, "this effect cannot be performed now", "event", "effect", "effect", name,
			"outcome", "unperformable", "reason", "settings", "error", why[name])
		lines = append(lines, fmt.Sprintf("the effect %s cannot be performed now: %s", name, oneLine(why[name])))
	}
	return lines
}

// checkJobsWithin is how long job storage may take to answer before it is taken for usable.
const checkJobsWithin = 2 * time.Second

// checkJobs returns why nothing can be stored in the job storage that the settings name; nil where that is
// not known. The folder beside the ledger's file is not checked: it is made at its first use.
func (s *Server) checkJobs(ctx context.Context) error {
	if s.settings.Jobs.Storage == "" {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, checkJobsWithin)
	defer cancel()
	if err := s.jobs.Check(within); within.Err() == nil {
		return err //nolint:wrapcheck // it says which storage
	}
	return nil
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Publish publishes an operator's message as the server does: to the topic, or to the queue inside the
// process, for Drain. One whose effects are left to another process records in the ledger what the
// message asks for; where that changes nothing, the log says why.
func (s *Server) Publish(ctx context.Context, m ledger.Message) error {
	switch {
	case s.options.Publisher != nil:
		return s.options.Publisher.Publish(ctx, m)
	case !s.leaves(m.Effect):
		return s.queue.Publish(ctx, m)
	}
	s.left.Store(true)
	_, err := s.Ledger.Effects.Replay(ctx, m)
	if errors.Is(err, ledger.ErrReplay) {
		s.options.Log.WarnContext(ctx, "a message changed nothing", "event", "effect", "outcome", effect.Skipped,
			"operation", m.Operation, "effect", m.Effect, "error", err)
		return nil
	}
	return err
}

// Run handles one message now, and returns the outcome. Messages that it publishes inside this
// process wait for Drain.
func (s *Server) Run(ctx context.Context, m ledger.Message) (effect.Report, error) {
	return s.attempt(ctx, m)
}

// Paused reports whether effects whose messages are in this process are not run now: by its own
// settings, or where it follows the pause of another process, as the ledger says.
func (s *Server) Paused(ctx context.Context) (bool, error) {
	if s.effects.Paused || !s.options.FollowPause {
		return s.effects.Paused, nil
	}
	last, _, err := s.Ledger.Passes.Last(ctx)
	if errors.As(err, new(ledger.Broken)) { // then no pass says anything
		return false, nil
	}
	return last.Effects == ledger.EffectsPaused, err
}

// elsewhere reports whether other processes run the effects.
func (s *Server) elsewhere() bool { return s.options.Publisher != nil || s.options.Wake != nil }

// pause is what this process knows of the workers, once it serves; empty where effects are published
// to a topic, because other processes run them.
func (s *Server) pause() ledger.Pause {
	if s.elsewhere() {
		return ""
	}
	return ledger.PauseOf(s.effects.Paused)
}

// storePauseWithin bounds StorePause: a store that does not answer keeps no server from starting.
const storePauseWithin = 5 * time.Second

// StorePause stores whether effects are paused by this process, which is about to serve: commands on
// the same ledger keep that [G5]. Its passes store it, too. Call it before anything says that the
// server is ready. The error is in the log.
func (s *Server) StorePause(ctx context.Context) {
	pause := s.pause()
	if pause == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, storePauseWithin)
	defer cancel()
	if err := s.Ledger.Passes.StorePause(ctx, pause); err != nil {
		s.options.Log.ErrorContext(ctx, "commands cannot know whether effects are paused", "error", err)
	}
}

// attempt hands a message to the function that runs effects, unless they are paused. The error is in
// the log.
func (s *Server) attempt(ctx context.Context, m ledger.Message) (effect.Report, error) {
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
// before anything says that the server is ready. The error is in the log.
func (s *Server) StoreSettings(ctx context.Context, by string) {
	connect.StoreSettings(ctx, s.Ledger, s.settings.Ledger, by, s.options.Log)
}

// run makes an attempt at an effect. It drops the error, which is in the log and, if it could be
// recorded, in the ledger.
func (s *Server) run(ctx context.Context, m ledger.Message) (again bool, after time.Duration) {
	tries, putOff := s.outage.begin(s.options.Now())
	if putOff > 0 {
		return true, putOff
	}
	report, err := s.attempt(ctx, m)
	s.outage.end(s.options.Now(), tries, err)
	if err != nil {
		return true, firstOutageWait
	}
	return report.Again(), report.RetryAfter
}
