package serve

import (
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/operation"
)

// plans returns the faults of the simulated Gemini: of all, and by their keys of the jobs that meet others.
func (f *simulateFlags) plans() (all geminisim.Faults, ofJobs map[operation.Key]geminisim.Faults, err error) {
	if all, err = geminisim.ParseFaults(f.faults); err != nil {
		return all, nil, fmt.Errorf("--faults: it must be none, normal or harsh, not %q", f.faults)
	}
	forced := map[operation.Key][]func(*geminisim.Faults){}
	for _, text := range f.forced {
		job, fault, err := faultOf(text)
		if err != nil {
			return all, nil, fmt.Errorf("--fault: %w", err)
		}
		forced[job] = append(forced[job], fault)
	}
	for _, apply := range forced[""] {
		apply(&all)
	}
	ofJobs = map[operation.Key]geminisim.Faults{}
	for job, faults := range forced {
		plan := all
		for _, apply := range faults {
			apply(&plan)
		}
		if job != "" {
			ofJobs[job] = plan
		}
	}
	return all, ofJobs, nil
}

// faultOf reads a fault such as expired=1, or that of one job, such as jobs/nightly:expired=1.
func faultOf(text string) (job operation.Key, apply func(*geminisim.Faults), err error) {
	fault := text
	if name, rest, ok := strings.Cut(text, ":"); ok {
		id, ours := strings.CutPrefix(name, string(operation.Jobs)+"/")
		if job, err = operation.JobKey(id); !ours || err != nil {
			return "", nil, fmt.Errorf("before the colon of %q there must be a job, such as jobs/nightly", text)
		}
		fault = rest
	}
	if apply, err = geminisim.ParseFault(fault); err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "geminisim: "))
	}
	return job, apply, err
}
