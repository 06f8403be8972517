package simulation

import (
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// TestLateCommitHoldsWhatWasSent: a process that goes on may change the data of a commit that is on
// its way. What arrives is what was sent, as from a real client, which encodes before it sends.
func TestLateCommitHoldsWhatWasSent(t *testing.T) {
	t.Parallel()
	progress := ledger.ItemProgress{Next: 3}
	path := ledger.EffectPath("batches/1", eachRule)
	writes, err := sent([]ledger.Write{{Path: path, Data: ledger.Effect{Progress: &progress}}, {Path: "operations/gone"}})
	if err != nil {
		t.Fatal(err)
	}
	progress = ledger.ItemProgress{}
	effect, ok := writes[0].Data.(ledger.Effect)
	if !ok || effect.Progress == nil || effect.Progress.Next != 3 {
		t.Errorf("the effect arrives as %+v, progress %+v", writes[0].Data, effect.Progress)
	}
	if writes[0].Path != path || writes[1].Data != nil {
		t.Errorf("the writes arrive as %+v", writes)
	}
}
