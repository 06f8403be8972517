package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
)

// pausedHere reports whether this process was started with effects paused, and no operator has ended that since.
func (s *Server) pausedHere() bool { return s.effects.Paused && !s.resumed.Load() }

// errElsewhere: other processes run the effects, so this one cannot end their pause.
var errElsewhere = httpfunc.Errorf(http.StatusConflict,
	"effects are published to a topic: end the pause where they are run")

// ResumeEffects ends the pause of this process until its next start, logs who decided that and why, stores it [G5],
// and has what waited enqueued. ended: there was a pause. After an error it may be repeated.
func (s *Server) ResumeEffects(ctx context.Context, d ledger.Decision) (ended bool, err error) {
	switch {
	case s.elsewhere():
		return false, errElsewhere
	case !s.effects.Paused:
		return false, nil
	}
	if ended = !s.resumed.Swap(true); ended {
		s.options.Log.InfoContext(ctx, "an operator has ended the pause of effects; the next start pauses them again while "+
			"OPLEDGER_EFFECTS_PAUSED is true", "event", "effect", "outcome", "resumed", "by", d.By, "why", d.Why)
	}
	s.queue.Behind(func(stop <-chan struct{}) {
		ctx := context.WithoutCancel(ctx)
		if err := s.enqueueWaiting(ctx, stop); err != nil {
			s.options.Log.ErrorContext(ctx, "not all effects that waited for the end of the pause are enqueued; sweeps do it "+
				"within an hour", "event", "effect", "outcome", "error", "error", err)
		}
	})
	return ended, s.storePause(ctx)
}

// resumePage is how many open effects are read at once.
const resumePage = 500

// enqueueWaiting enqueues what waited for the end of a pause: sweeps have put it off, for up to an hour. While the
// queue is full it waits, until stop is closed.
func (s *Server) enqueueWaiting(ctx context.Context, stop <-chan struct{}) error {
	now, err := s.Ledger.Now(ctx)
	if err != nil {
		return err
	}
	for after := (ledger.Cursor{}); ; {
		page, err := s.Ledger.Effects.Open(ctx, after, resumePage)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			e := item.Effect
			if e.State != ledger.EffectPending || e.ClaimableAt.After(now) {
				continue
			}
			m := ledger.Message{Operation: e.Operation, Effect: e.Name, Attempt: e.Attempts + 1}
			select {
			case s.queue.messages <- m:
			case <-stop:
				return nil
			}
		}
		if after = page.Next; after.Path == "" {
			return nil
		}
	}
}

// serveResume ends the pause for a command. The body says who decided and why, as far as that is known.
func (s *Server) serveResume(w http.ResponseWriter, r *http.Request) {
	body, err := httpfunc.ReadBody(w, r)
	var d ledger.Decision
	if err == nil && len(body) > 0 && json.Unmarshal(body, &d) != nil {
		err = httpfunc.Errorf(http.StatusBadRequest, `write {"by":"ann","why":"the receiver is back"}, or nothing`)
	}
	ended := false
	if err == nil {
		ended, err = s.ResumeEffects(r.Context(), d)
	}
	httpfunc.WriteResult(w, http.StatusOK, map[string]bool{"ended": ended}, err)
}

// Paused reports whether effects whose messages are in this process are not run now: by its own
// settings, or where it follows the pause of another process, as the ledger says.
func (s *Server) Paused(ctx context.Context) (bool, error) {
	if paused := s.pausedHere(); paused || !s.options.FollowPause {
		return paused, nil
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
	return ledger.PauseOf(s.pausedHere())
}

// storePauseWithin bounds StorePause: a store that does not answer keeps no server from starting.
const storePauseWithin = 5 * time.Second

// StorePause stores whether effects are paused by this process, which is about to serve: commands on
// the same ledger keep that [G5]. Its passes store it, too. Call it before anything says that the
// server is ready. The error is in the log.
func (s *Server) StorePause(ctx context.Context) {
	if err := s.storePause(ctx); err != nil {
		s.options.Log.ErrorContext(ctx, "commands cannot know whether effects are paused", "error", err)
	}
}

func (s *Server) storePause(ctx context.Context) error {
	pause := s.pause()
	if pause == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storePauseWithin)
	defer cancel()
	return s.Ledger.Passes.StorePause(ctx, pause)
}
