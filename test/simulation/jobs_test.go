package simulation

import (
	"slices"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// ofJobs are the options of the schedules of jobs.
var ofJobs = Options{Script: Jobs, Test: "TestJobs"}

// TestJobs runs the schedules of jobs of as many seeds as OPLEDGER_SOAK says, as TestStorm does.
func TestJobs(t *testing.T) {
	outcomes := slices.Concat(fatesOf(works, diesAfter), fatesOf(dropped, missing), []string{
		busy.String(), metReopened, metRevived, metSeized, metLeapt, metAgain, metRefused, metRefusedLate, metReleased,
		metGivenUp, metDropped, metStopped, metJobCancelled, metDiffers,
		metPaused, metResumed, metDeadline, metPilotHeld, metCostHeld, metCostRaised, metHalved, metRedriven, metMerged,
		metUnsent,
	})
	if harness.Thorough(t) {
		outcomes = append(outcomes, metLostHeld)
	}
	rare := slices.Concat(fatesOf(stale, declined), fatesOf(lacking, told), []string{metDead, metRepeated, metChunk})
	outcomes = append(outcomes, harness.Soak(t, nil, rare, rare)...)
	storm(t, ofJobs, schedulesOf(t, 60, 120, 1_500, 100_000), outcomes)
}

// TestOneSeedIsOneJob: one seed is one schedule, of jobs, too.
func TestOneSeedIsOneJob(t *testing.T) {
	oneSchedule(t, ofJobs, schedulesOf(t, 2, 5, 50, 500))
}

// rarely are the seeds that find the flaws which few find: the short search begins there. Another world has others,
// which -v names; until they stand here the search takes longer.
var rarely = map[Flaw]uint64{
	NoFirst: 88, NoFenceNamed: 51, NoWait: 48, NoCosts: 14, NoSeen: 14, NoHour: 13, NoIdle: 10, NoSpent: 9, NoReserved: 6,
}

// TestFlawsOfJobsAreFound: each broken guard of jobs breaks a rule of its own in one of few schedules. At night the
// search begins with the seed 0. Outside of the gate nothing is shrunk: TestFlawsAreFound does.
func TestFlawsOfJobsAreFound(t *testing.T) {
	t.Parallel()
	for _, flaw := range JobFlaws() {
		t.Run(flaw.String(), func(t *testing.T) {
			t.Parallel()
			o := ofJobs
			o.Flaw = flaw
			found(t, o, harness.Soak(t, rarely[flaw], 0, 0), 1_000, triesOf(t, 0, 3, 10))
		})
	}
}
