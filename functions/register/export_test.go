package register

import "github.com/opledger/opledger/test/harness"

// Build builds the function of a deployment.
var Build = harness.BuilderOf(build)
