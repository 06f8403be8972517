package e2e

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/test/harness"
)

// newCloudFleet makes a fleet of the deployed functions, two instances of those that the callers' load
// scales, with Pub/Sub pushing effects through the front as it pushes to a function's URL.
func newCloudFleet(t *testing.T, c *cloud, config geminisim.Config) *fleet {
	t.Helper()
	functionBinary(t, "Effects") // building takes longer than anything here is given to start
	f := newFleet(t, c.backend, 0, config)
	for _, function := range []struct{ name, function, path string }{
		{"w", "Webhook", "/webhook"}, {"v", "Webhook", "/webhook"},
		{"r", "Register", "/register"},
		{"s", "Reconcile", "/reconcile"},
		{"e", "Effects", pushPath}, {"d", "Effects", pushPath},
	} {
		f.instances = append(f.instances, &instance{name: function.name, function: function.function, path: function.path})
	}
	c.push(f.front.URL+"/"+c.topic(topicID), "")
	return f
}

// schedule calls Reconcile as Cloud Scheduler does, until the returned function is called. A pass that was cut off is
// followed by the next.
func (f *fleet) schedule(every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			status, answer, _, err := send(http.MethodPost, f.front.URL+"/reconcile", nil, nil)
			var waited interface{ Timeout() bool }
			if errors.As(err, &waited) && waited.Timeout() {
				err, status = nil, http.StatusGatewayTimeout // the scheduler, too, gives up and calls again
			}
			if err != nil || status != http.StatusOK && status < 500 {
				f.t.Errorf("the scheduler was answered %d %s %v", status, answer, err)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// TestCloudSIGKILL is TestSIGKILL as it is in the cloud: the four functions, each a process of its
// own, on Firestore and Pub/Sub, killed with SIGKILL at every interesting moment of their work and
// at any other, and each at once started again, while Gemini loses, repeats, delays and reorders.
// Nothing is lost [L2, R1, R5, R6], no side effect is repeated but where its outcome could not
// reach the ledger [S3, S4, S6], and nothing goes back [M5, M9].
func TestCloudSIGKILL(t *testing.T) {
	t.Parallel()
	each, operations := harness.Soak(t, 1, 4, 40), harness.Soak(t, 30, 100, 1000)
	kills := map[moment]*quota{
		anyMoment:    {kills: each, every: 1},
		delivering:   {kills: each, every: 14, offset: 5},
		registering:  {kills: each, every: 20, offset: 10},
		reconciling:  {kills: each, every: 4, offset: 3},
		lookingUp:    {kills: each, every: 5, offset: 3},
		pushed:       {kills: each, every: 20, offset: 4},
		beforeEffect: {kills: each, every: 15, offset: 2},
		duringEffect: {kills: each, every: 15, offset: 6},
		afterEffect:  {kills: each, every: 15, offset: 10},
	}
	const seed = 11
	f := newCloudFleet(t, newCloud(t), geminisim.Config{
		Seed: seed, Faults: geminisim.Harsh(), Speed: harshSpeed(t), RunTime: [2]time.Duration{time.Minute, 8 * time.Minute},
	})
	f.receiver.refuseEvery = 13
	f.settings = []string{"OPLEDGER_CLAIM_TTL=8s"}
	f.killer.hunt(kills)
	stop := f.schedule(time.Second)
	outcome := f.play(operations)
	stop()
	outcome.wasHard(t, kills, each)
}
