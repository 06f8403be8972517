package geminisim_test

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func TestWindows(t *testing.T) {
	faults := geminisim.Faults{WindowEvery: 10 * time.Minute, WindowLength: 5 * time.Minute}
	bubble(
		t,
		geminisim.Config{Seed: 3, Faults: faults},
		nil,
		func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
			const n = 100
			for range n {
				submit(t, sim, "")
			}
			waitWithin(t, week, sim, over(n))
			st := sim.Stats()
			if st.WindowRefused < 20 || st.AnswersLost < 10 || st.Accepted != n || st.GaveUp != 0 {
				t.Errorf("%+v", st)
			}
			if st.Deliveries != st.Accepted+st.WindowRefused+st.AnswersLost || st.Retries != st.Deliveries-n {
				t.Errorf("the counters do not add up: %+v", st)
			}
			if reached := len(rc.all()); reached != st.Accepted+st.AnswersLost {
				t.Errorf("%d attempts reached the receiver, %+v", reached, st)
			}
			for _, b := range sim.Batches() {
				if b.Completion != geminisim.CompletionAccepted || b.Reached < 1 {
					t.Errorf("%+v", b)
				}
			}
		},
	)
}
