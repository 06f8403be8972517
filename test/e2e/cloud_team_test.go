package e2e

import (
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/test/harness"
)

// teamEffects is the program of Effects as a team deploys it that has a handler of its own, the one in testdata.
const (
	team        = "Team"
	teamEffects = team + "Effects"
)

// buildTeam builds teamEffects: the shipped source, but for the one file whose place is kept for a
// team's handlers. The wall clock of the program can be set wrong, which is done behind the
// runtime's back and so needs the linker's leave.
var buildTeam = sync.OnceValues(func() (program string, err error) {
	overlay := map[string]string{}
	for _, file := range []string{"custom.go", "clock.go", "clock_linux_amd64.s"} {
		overlay["functions/effects/"+file] = "testdata/team/" + file
	}
	return buildProgram("team", []string{"functions/effects"}, overlay, "-ldflags=-checklinkname=0")
})

// needShiftedClocks skips a test where no process can be given a wrong clock.
func needShiftedClocks(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		harness.Missing(t, "the clock of a process is set wrong in assembly, for Linux on amd64 alone")
	}
}

// newTeamFleet makes a fleet of instances of teamEffects, behind a storeDoor and with nothing that
// pushes to them. clocks says how wrong the clock of each instance is, by its name.
func newTeamFleet(t *testing.T, c *cloud, clocks map[string]string) *fleet {
	t.Helper()
	for _, program := range []string{teamEffects, "Reconcile"} {
		functionBinary(t, program) // building takes longer than anything here is given to start
	}
	store := newStoreDoor(t, c.firestore)
	f := newFleet(t, c.backend, 0, geminisim.Config{Speed: 1000})
	f.store, store.fleet = store, f
	for _, name := range slices.Sorted(maps.Keys(clocks)) {
		f.instances = append(f.instances, &instance{name: name, function: teamEffects, path: pushPath})
	}
	f.own = func(id string) []string {
		return []string{
			"OPLEDGER_EFFECTS=[{name: publish, do: custom, on: [SUCCEEDED]}]", "TEAM_URL=" + f.sink.URL + sinkPath + id,
			"FIRESTORE_EMULATOR_HOST=" + store.address(id), "CLOCK_SHIFT=" + clocks[id[:1]],
		}
	}
	return f
}
