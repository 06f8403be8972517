package register

import "github.com/opledger/opledger/test/functiontest"

// Build builds the function of a deployment.
var Build = functiontest.BuilderOf(build)

// ParseJobRequest reads the body of POST /jobs/{id}.
var ParseJobRequest = parseJobRequest
