package register

import (
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/opledger/opledger/test/functiontest"
)

// Build builds the function of a deployment.
var Build = functiontest.BuilderOf(build)

// ParseRequest reads the body of POST /register.
func ParseRequest(body []byte, now time.Time) error {
	_, err := handler{}.parseRequest(httptest.NewRequest(http.MethodPost, "/register", nil), body, now)
	return err
}

// ParseJobRequest reads the body of POST /jobs/{id}.
var ParseJobRequest = parseJobRequest
