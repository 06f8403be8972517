package linearizability

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
)

// A tally counts what histories hold.
type tally struct {
	histories, calls, unknown, kills int
	of                               map[string]int // answers that the promises are about
}

// interesting are the answers without which a history proves little.
var interesting = []string{
	"claim claimed", "claim seized", "claim held", "claim backing-off", "finish done", "lease lost",
	"ingest applied", "ingest dropped", "ingest duplicate", "ingest conflict", "register created",
	"register added", "race lost", "effects planned", "effect given up",
}

func (s *tally) add(all []porcupine.Operation) {
	if s.of == nil {
		s.of = map[string]int{}
	}
	keys := map[string]bool{}
	for _, op := range all {
		in, out := op.Input.(input), op.Output.(output)
		keys[in.Key] = true
		s.calls++
		s.of["race lost"] += out.Races
		if out.Unknown != "" {
			s.unknown++
			continue
		}
		switch {
		case out.Refused:
			s.of["refused"]++
		case in.Call == register && out.Created:
			s.of["register created"]++
		case in.Call == register:
			s.of["register added"]++
		case in.Call == ingest:
			s.of["ingest "+out.Outcome]++
		case in.Call == claim && out.Seized:
			s.of["claim seized"]++
		case in.Call == claim:
			s.of["claim "+out.Verdict]++
		case out.Lost:
			s.of["lease lost"]++
		case out.Dead:
			s.of["effect given up"]++
		case in.Call == finish:
			s.of["finish done"]++
		}
		s.of["effects planned"] += out.Planned
	}
	s.histories += len(keys)
}

// tooKind names what the histories do not have; empty where they have all.
func (s *tally) tooKind() string {
	var missing []string
	for _, answer := range interesting {
		if s.of[answer] == 0 {
			missing = append(missing, answer)
		}
	}
	if s.kills == 0 {
		missing = append(missing, "killed process")
	}
	if s.unknown == 0 {
		missing = append(missing, "unknown answer")
	}
	return strings.Join(missing, ", ")
}

// tooVague reports whether so many answers are unknown that the histories prove little.
func (s *tally) tooVague() bool { return s.unknown > s.calls/10 }

func (s tally) String() string {
	return fmt.Sprintf("%d histories of %d calls, %d of them unknown, %d processes killed; answers: %v",
		s.histories, s.calls, s.unknown, s.kills, s.of)
}
