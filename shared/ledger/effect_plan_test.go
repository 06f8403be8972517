package ledger

import "testing"

// TestReadEffects: a document that is not there is no effect.
func TestReadEffects(t *testing.T) {
	t.Parallel()
	effects, err := readEffects([]Document{{Path: EffectPath("batches/a", "publish")}})
	if err != nil || len(effects) > 0 {
		t.Errorf("%+v, %v", effects, err)
	}
}
