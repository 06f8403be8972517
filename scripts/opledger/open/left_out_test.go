package open_test

import (
	"context"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestServeLeavesOutEffects: a serve that begins without an effect which one before it planned says so, and so
// does each further one. What ended meanwhile is counted also once a serve has the effect again, until replay has
// planned it for all of them; or until an operator resolves it [L7].
func TestServeLeavesOutEffects(t *testing.T) {
	t.Parallel()
	f, p := commandtest.NewFile(t), newPublisher(t)
	run := func(args ...string) commandtest.Said {
		return commandtest.Run(t, nil, append(args, "--store", f.Store())...)
	}
	bare := func() commandtest.Served {
		return commandtest.Serving(t, []string{"OPLEDGER_STORE=" + f.Store()}, "--schedule=false")
	}
	const says = "without the effect publish, which was planned before: start serve again with it in OPLEDGER_EFFECTS"
	bare().Stop()
	if log := p.serves(t, f, "--schedule=false").Stop(); strings.Contains(log, "without the effect") {
		t.Errorf("the default effect is missed: %s", log)
	}
	bare().Stop()
	s := bare()
	run("status").Want(t, terminal.ExitFailed, says).Says(t, "effects-unknown",
		"opledger list --without publish --store "+f.Store())
	for key, state := range map[operation.Key]operation.State{
		"batches/a": operation.Succeeded, "batches/b": operation.Succeeded, "batches/c": operation.Failed,
	} {
		f.Settle(key, state, operation.Result{})
		run("register", string(key)).Want(t, terminal.ExitDone)
	}
	run("wait", "batches/a", "--timeout", "1m").Want(t, terminal.ExitDone)
	run("status").Want(t, terminal.ExitFailed, says+"; 2 operations ended without it since")
	run("replay", "batches/a").Want(t, terminal.ExitDone).Says(t, "batches/a ended without the effect publish", says,
		"; then --effect publish plans it")
	run("replay", "--without", "publish", "--yes").Want(t, terminal.ExitFailed, says)
	if _, page := commandtest.Fetch(t, "GET", s.URL+"/", ""); !strings.Contains(page, says) {
		t.Errorf("the Overview of serve: %s", page)
	}
	if log := s.Stop(); !strings.Contains(log, says) {
		t.Errorf("serve does not say it at its start: %s", log)
	}
	s = p.serves(t, f, "--schedule=false")
	run("status").Want(t, terminal.ExitFailed, "2 operations ended without the effect publish, which no process planned").
		Says(t, "opledger replay --without publish --store "+f.Store())
	said := run("list", "--without", "publish").Want(t, terminal.ExitDone).Says(t, "batches/a", "batches/b")
	if strings.Contains(said.Out, "batches/c") {
		t.Errorf("no rule would have planned it: %s", said.Out)
	}
	run("replay", "batches/a", "--effect", "publish").Want(t, terminal.ExitDone).Says(t, "1 done")
	run("status").Want(t, terminal.ExitFailed, "1 operation ended without the effect publish")
	run("replay", "--without", "publish", "--dry-run").Want(t, terminal.ExitDone).Says(t, "batches/b", "nothing was")
	run("replay", "--without", "publish", "--dead").Want(t, terminal.ExitUsage, "an effect that was never planned")
	run("replay", "--without", "publish", "--state", "FAILED", "--yes").Want(t, terminal.ExitDone).Says(t, "no selected")
	if effect := leftOut(f, "publish"); effect.Resolved != nil {
		t.Errorf("a replay of some has ended it: %+v", effect)
	}
	for _, says := range []string{"1 done", "no selected operation ended without the effect publish"} { // it is safe again
		run("replay", "--without", "publish", "--yes").Want(t, terminal.ExitDone).Says(t, says)
	}
	if n := p.accepted.Load(); n != 2 {
		t.Errorf("the receiver got %d", n)
	}
	if effect := leftOut(f, "publish"); effect.Resolved == nil { // where more ended than status reads, it counts on this
		t.Errorf("a replay of all has not ended it: %+v", effect)
	}
	run("status").Want(t, terminal.ExitDone).Says(t, "nothing needs an operator")
	s.Stop()
	s = bare()
	run("status").Want(t, terminal.ExitFailed, says)
	f.Settle("batches/d", operation.Succeeded, operation.Result{})
	run("register", "batches/d").Want(t, terminal.ExitDone)
	run("wait", "batches/d", "--timeout", "1m").Want(t, terminal.ExitDone)
	run("resolve", "--without", "other", "--reason", "x", "--yes").Want(t, terminal.ExitFailed, "no start has left out")
	run("resolve", "--without", "publish", "--reason", "it moved", "--yes").Want(t, terminal.ExitDone).Says(t,
		"that the effect publish is left out resolved by", "it moved")
	run("status").Want(t, terminal.ExitDone).Says(t, "nothing needs an operator")
	run("list", "--without", "publish").Want(t, terminal.ExitDone).Says(t, "batches/d")
	s.Stop()
	s = p.serves(t, f, "--schedule=false") // the decision was wrong
	run("status").Want(t, terminal.ExitDone).Says(t, "nothing needs an operator")
	run("replay", "--without", "publish", "--yes").Want(t, terminal.ExitDone).Says(t, "1 done")
	s.Stop()
}

// leftOut is an effect that was left out.
func leftOut(f commandtest.File, name string) (effect ledger.LeftOut) {
	f.T.Helper()
	f.With(func(ctx context.Context, l *ledger.Ledger) (err error) {
		effect, err = l.Effects.FindLeftOut(ctx, name)
		return err
	})
	return effect
}
