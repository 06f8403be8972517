package effects

import "github.com/opledger/opledger/test/functiontest"

// Build builds the function of a deployment.
var Build = functiontest.BuilderOf(build)
