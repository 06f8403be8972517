package effects

import (
	"context"
	"time"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A ReplayOfDead is a replay --dead, with some of its flags.
type ReplayOfDead struct {
	Topic   string
	Of      string // --receiver
	NoWait  bool
	Timeout time.Duration
}

// Run replays, as an operator with the name ops.
func (r ReplayOfDead) Run(ctx context.Context, outside terminal.Environment, w open.Writer) error {
	selection := replaySelection{dead: true, receiver: r.Of}
	if err := selection.parse(nil, time.Now()); err != nil {
		return err
	}
	outside.Yes = true
	command := replayer{
		outside: outside, where: open.Location{Topic: r.Topic}, writer: w, noWait: r.NoWait, timeout: r.Timeout, by: "ops",
	}
	return command.replay(ctx, selection, "")
}

// CheckRule checks the rule of an effect that was never planned, for a replay over a topic.
func CheckRule(
	ctx context.Context, outside terminal.Environment, w open.Writer, key operation.Key, effect string,
) error {
	r := replayer{outside: outside, where: open.Location{Topic: "effects"}, writer: w}
	return r.checkRules(ctx, []replayTarget{{Operation: key, Effect: effect, Status: unplanned}})
}

// ChosenSince reports whether replay --dead --since chooses an effect, with --error.
func ChosenSince(since time.Time, why string, e ledger.Effect, settled time.Time) bool {
	return replaySelection{dead: true, after: since, why: why}.chooses(e, settled)
}

const MostLooks = mostLooks
