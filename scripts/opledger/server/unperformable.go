package server

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/httpfunc"
)

// defaultTopicTimeout is how long Pub/Sub may take to answer before a topic is taken for usable.
const defaultTopicTimeout = 2 * time.Second

// CheckEffects logs each effect that cannot succeed now, and returns what it found, in the order
// of their names: its address is private, its topic does not exist, or a secret or credentials are
// missing. Before them come the topic that all are published to, and job storage, where the settings name
// one. Such effects are planned and tried all the same, because that may be fixed later. It takes 8 seconds
// at most. What is found stays until it is found no more: see checkAgain.
func (s *Server) CheckEffects(ctx context.Context) []overview.Unperformable {
	var found []overview.Unperformable
	var lines []func()
	add := func(playbook, words, message string, why error, fields ...any) {
		found = append(found, overview.Unperformable{Words: words, Playbook: playbook})
		lines = append(lines, func() {
			s.options.Log.WarnContext(ctx, message, append(fields, "outcome", "unperformable", "reason", "settings",
				"error", why)...)
		})
	}
	if s.options.Topic != "" {
		within := cmp.Or(s.options.TopicTimeout, defaultTopicTimeout)
		if why := cloud.UnusableTopic(ctx, s.topics, s.options.Topic, within); why != nil {
			add("unpublished", "no effect can be run now: "+oneLine(why), "no effect can be run now", why, "event", "effect")
		}
	}
	if why := s.checkJobs(ctx); why != nil {
		add("jobs", "no job can be run now: OPLEDGER_JOB_STORAGE: "+oneLine(why), "no job can be run now", why,
			"event", "job")
	}
	why := cloud.Unperformable(ctx, s.settings.Ledger.Effects, s.settings.Handlers, s.handlers)
	for _, name := range slices.Sorted(maps.Keys(why)) {
		add("effects-failing", fmt.Sprintf("the effect %s cannot be performed now: %s", name, oneLine(why[name])),
			"this effect cannot be performed now", why[name], "event", "effect", "effect", name)
	}
	if before := s.unperformable.Swap(&found); !slices.Equal(*before, found) {
		for _, log := range lines {
			log()
		}
	}
	return found
}

// checkAgain checks again what was found, until it is right. What fails only later is an effect that fails.
func (s *Server) checkAgain(ctx context.Context) {
	if len(*s.unperformable.Load()) > 0 {
		s.CheckEffects(ctx)
	}
}

// unable returns what this process cannot do now: write the ledger, as /ready says, and what
// CheckEffects found last.
func (s *Server) unable(ctx context.Context) []overview.Unperformable {
	found := *s.unperformable.Load()
	if err := s.canWrite(ctx); err != nil {
		found = slices.Concat([]overview.Unperformable{
			{Words: "the ledger cannot be written: " + oneLine(err), Playbook: "ledger-errors", Unwritten: true},
		}, found)
	}
	return found
}

// itself is what an overview says of this process.
func (s *Server) itself(ctx context.Context) overview.Serve {
	return overview.Serve{State: overview.ServeRuns, Unperformable: s.unable(ctx)}
}

// serveUnperformable answers a command with what this process cannot do.
func (s *Server) serveUnperformable(w http.ResponseWriter, r *http.Request) {
	httpfunc.WriteJSON(w, http.StatusOK, s.unable(r.Context()))
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
