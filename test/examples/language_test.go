package examples

import (
	"path/filepath"
	"testing"
)

// A language is the examples of one.
type language struct {
	submitter submitter
	receiver  receiver
}

// test runs a submitter and a receiver together: each operation reaches the receiver, signed; and
// then each with what goes wrong.
func (l language) test(t *testing.T) {
	t.Helper()
	t.Run("from a submission to a signed effect", func(t *testing.T) {
		t.Parallel()
		receiver, url := l.receiver.start(t, filepath.Join(t.TempDir(), "inbox"))
		env := []string{"OPLEDGER_EFFECT_SECRET=" + secret}
		w := newWorld(t, env, "--forward-to", url)
		l.submitter.freesID(t, w)
		l.submitter.submitsOnce(t, w)
		l.submitter.uploads(t, w)
		for _, collection := range []string{"batches", "operations", "interactions"} {
			receiver.await("accepted gemini:" + collection + "/")
		}
	})
	t.Run("a creation is not repeated", func(t *testing.T) {
		t.Parallel()
		l.submitter.neverRepeats(t)
		l.submitter.keepsKey(t)
	})
	t.Run("a receiver accepts a key once", func(t *testing.T) {
		t.Parallel()
		l.receiver.acceptsOnce(t, filepath.Join(t.TempDir(), "inbox"))
		l.receiver.needsSecret(t)
		l.receiver.needsPort(t)
		l.receiver.needsInbox(t)
	})
	t.Run("nothing is sent", func(t *testing.T) {
		t.Parallel()
		l.submitter.needsScheme(t)
		l.submitter.listsMistakes(t)
	})
}
