package cloud_test

import (
	"testing"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/steps"
)

// TestAddStepsReadsTheKey: a process reads the API key for jobs where it has job storage, and nowhere else.
func TestAddStepsReadsTheKey(t *testing.T) {
	t.Parallel()
	settings := config.Gemini{APIKeySecret: "no secret's name"} // which reading it reports
	for location, reads := range map[string]bool{"": false, t.TempDir(): true} {
		jobs, err := cloud.JobStorage(location, config.Handlers{})
		if err != nil {
			t.Fatal(err)
		}
		handlers := map[string]effect.Handler{}
		err = cloud.AddSteps(t.Context(), handlers, settings, steps.Options{Storage: jobs})
		if (err != nil) != reads || !reads && handlers[job.StepStart] == nil {
			t.Errorf("with storage at %q: %v, handlers %v", location, err, handlers)
		}
	}
}
