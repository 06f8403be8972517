package register

import "github.com/opledger/opledger/test/harness"

// Build builds the function of a deployment.
var Build = harness.BuilderOf(build)

// ParseJobRequest reads the body of POST /jobs/{id}.
var ParseJobRequest = parseJobRequest
