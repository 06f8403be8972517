package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// submit submits operations at the pace of the level, as long as another is wanted.
func (s *soak) submit(another func(submitted int) bool) {
	pace := harness.Soak(s.t, 200*time.Millisecond, 300*time.Millisecond, time.Second)
	names, err := s.submitAll(pace, another)
	if err != nil {
		s.t.Error(err)
	}
	maps.Copy(s.names, names)
}

// rest waits until every operation that was submitted rests, and Gemini has nothing left to deliver.
func (s *soak) rest() {
	s.t.Helper()
	s.within(3*patience, "every operation is settled and its effect done or dead",
		func() bool { return s.watch.rested() >= len(s.names) })
	s.within(3*patience, "every delivery is made", func() bool { return s.sim.Stats().Open == 0 })
}

// checkDead is checkStory for an operation whose effect the receiver refuses for good.
func checkDead(story ledger.Story, batch geminisim.OperationInfo, key string, accepted bool) error {
	var problems []error
	fail := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if "BATCH_STATE_"+string(story.Record.State) != string(batch.State) {
		fail("wrong: the ledger says %s, Gemini %s", story.Record.State, batch.State)
	}
	if accepted {
		fail("the receiver accepted what it refuses")
	}
	if len(story.Effects) != 1 || story.Effects[0].State != ledger.EffectDead ||
		story.Effects[0].IdempotencyKey != key || !story.Effects[0].ExpireAt.IsZero() {
		fail("its effects are %+v", story.Effects)
	}
	if !story.Record.DueAt.IsZero() || !story.Record.ExpireAt.IsZero() || !story.Record.DeadEffect {
		fail("dead, but due at %v and expiring at %v", story.Record.DueAt, story.Record.ExpireAt)
	}
	return errors.Join(problems...)
}

// checkListed checks that the operator's list has exactly the effects that were refused for good,
// and returns how many those are.
func (s *soak) checkListed() int {
	s.t.Helper()
	var want, got []string
	for name := range s.names {
		if key := operation.Key(name); s.receiver.refusesForGood(operation.IdempotencyKey(key, "publish")) {
			want = append(want, string(key))
		}
	}
	for after := ""; ; {
		var page struct {
			Effects []struct{ Operation, Effect string }
			Next    string
		}
		args := []string{"list", "--dead", "--json", "--limit", "100"}
		if after != "" {
			args = append(args, "--after", after)
		}
		list := exec.CommandContext(s.t.Context(), binary(s.t), args...)
		list.Env = slices.Concat([]string{"TMPDIR=" + os.TempDir()}, s.backend.variables)
		out, err := list.Output()
		if err == nil {
			err = json.Unmarshal(out, &page)
		}
		if err != nil {
			s.t.Fatalf("listing the dead: %v: %s", err, out)
		}
		for _, effect := range page.Effects {
			got = append(got, effect.Operation)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.t.Errorf("listed as dead are %v, want %v", got, want)
	}
	return len(got)
}

// of says which revisions there were.
func (s *soak) of() string {
	if s.revisions == nil {
		return "now"
	}
	var names []string
	for _, p := range s.revisions {
		names = append(names, p.revision)
	}
	return strings.Join(names, " and ")
}

// wasHard checks that a soak has proven something: every trouble was met, processes of each kind were
// killed, something died, and each revision answered as each kind of process. It returns how many
// processes of each kind were killed.
func (s *soak) wasHard(dead int) (kills map[string]int) {
	kills = map[string]int{}
	answers := map[string]int64{}
	for _, i := range s.instances {
		kills[i.process().kind()] += 0
		for _, p := range s.revisions {
			answers[i.process().kind()+" of revision "+p.revision] += 0
		}
	}
	for _, p := range s.processes() {
		if p.wasKilled() {
			kills[p.kind()]++
		}
		if s.revisions != nil {
			answers[p.kind()+" of revision "+p.revision] += p.answered.Load()
		}
	}
	for kind, n := range kills {
		if n == 0 {
			s.t.Errorf("no %s was killed", kind)
		}
	}
	for who, n := range answers {
		if n == 0 {
			s.t.Errorf("no %s answered", who)
		}
	}
	for _, trouble := range s.troubles {
		if s.met[trouble.name] == 0 {
			s.t.Errorf("there was no trouble of the kind: %s", trouble.name)
		}
	}
	if dead == 0 {
		s.t.Error("no effect is dead")
	}
	return kills
}
