package gcloud

import (
	"strings"
	"testing"
)

// TestDoctorEnvironment: with --environment doctor prints what opledger says of the deployment, and checks nothing.
func TestDoctorEnvironment(t *testing.T) {
	t.Parallel()
	const asks = "go run ./scripts/opledger environment --project=my-project --region=us-central1 --prefix=staging"
	options := []string{"--region", "us-central1", "--prefix", "staging", "--environment"}
	r := doctor(t, world{{Pattern: "^" + asks + "$", Out: "export PREFIX='staging'\n"}}, options...).want(t, 0)
	if r.out != "export PREFIX='staging'\n" || len(r.calls) != 1 || r.calls[0].Line != asks {
		t.Errorf("it called %q and printed %s", r.lines(), r.out)
	}
	r = doctor(t, world{{Pattern: "^" + asks + "$", Err: "opledger: no login\n", Code: 1}}, options...).want(t, 1)
	if r.out != "" || !strings.Contains(r.stderr, "no login") {
		t.Errorf("it printed %s and said %s", r.out, r.stderr)
	}
}
