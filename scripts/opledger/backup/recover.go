package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// NewRecover makes opledger recover.
func NewRecover(outside terminal.Environment) *cobra.Command {
	var log, by string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "recover --log FILE",
		Short: "Bring a ledger restored from a backup up to date with the log",
		Long: "For a ledger that was restored from a backup, while effects are paused. Reads the functions' log since\n" +
			"the backup. Records the intents in it again, registers its operations, and records as done the\n" +
			"effects that finished, so that they do not run again. Lists the other open effects: those may be\n" +
			"repeated when the pause ends, with the same idempotency keys. Run it again after the passes that find\n" +
			"what has ended since; repeating it is safe. The whole procedure is in infra/playbooks/restored.md.",
		Example: "  opledger recover --log serve.log --dry-run\n" +
			"  opledger recover --log lost.json",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, where, err := open.Parse[open.WriterSettings](outside)
			if log == "" {
				err = errors.Join(err, errors.New("--log: name the file with the functions' log since the backup"))
			}
			if err != nil {
				return terminal.Usage(err)
			}
			lost, err := readEvidence(log)
			if err != nil {
				return terminal.Usage(err)
			}
			where.ReadOnly = dryRun
			opened, err := open.Store(cmd.Context(), outside, where, true)
			if err != nil {
				return err
			}
			// Without a publisher, effects that are planned here wait for the sweep, and so for the
			// end of the pause.
			var l *ledger.Ledger
			settings.Ledger, err = open.Settings(cmd.Context(), outside, opened, settings.Ledger, !dryRun)
			if err == nil {
				l, err = ledger.New(opened, settings.Ledger.Settings(), ledger.Options{})
			}
			if err == nil {
				d := recoverer{outside: outside, ledger: l, by: by, dryRun: dryRun}
				err = d.recover(cmd.Context(), lost)
			}
			return errors.Join(err, opened.Close())
		},
	}
	open.WriterFlags(cmd, &outside)
	cmd.Flags().StringVar(&log, "log", "",
		"the functions' log since the backup, as they print it or as gcloud logging read --format=json does; required")
	terminal.ByFlag(cmd, &by, "who recovers, which is recorded")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print what is missing, and change nothing")
	terminal.YesFlag(cmd, &outside)
	return cmd
}

// A recoverer compares a ledger with the log, and writes what the ledger lacks.
type recoverer struct {
	outside terminal.Environment
	ledger  *ledger.Ledger
	by      string
	dryRun  bool
}

// A recovery is what the log holds and the ledger lacks.
type recovery struct {
	Intents    []string        `json:"intents"`    // to record, by correlation id
	Operations []operation.Key `json:"operations"` // to register
	Effects    []lostEffect    `json:"effects"`    // to record as done
	Later      []lostEffect    `json:"later"`      // done, of operations that have not ended in the ledger yet
	Held       []lostEffect    `json:"held"`       // done, but claimed: in the backup, or by a worker without the pause
	Open       []openEffect    `json:"open"`       // not known to be done: they may be repeated

	intents, operations []logEntry
}

// An openEffect is one that may be repeated when the pause ends.
type openEffect struct {
	lostEffect
	State          ledger.EffectState `json:"state"`
	Attempts       int                `json:"attempts"`
	IdempotencyKey string             `json:"idempotencyKey"`
}

// recover compares the ledger with the log, asks, and writes what is missing.
func (d recoverer) recover(ctx context.Context, lost evidence) error {
	missing, err := d.compare(ctx, lost)
	if err != nil {
		return err
	}
	n := len(missing.Intents) + len(missing.Operations) + len(missing.Effects)
	question := fmt.Sprintf("Record %s, register %s, and record %s as done?",
		phrase.Counted(len(missing.Intents), "intent"), phrase.Counted(len(missing.Operations), "operation"),
		phrase.Counted(len(missing.Effects), "effect"))
	if n > 0 && !d.dryRun {
		if err := terminal.Agree(ctx, d.outside, question, "nothing was changed"); err != nil {
			return err
		}
		if err := d.write(ctx, missing); err != nil {
			return err
		}
	}
	if err := d.report(missing); err != nil {
		return err
	}
	if len(missing.Held) > 0 {
		return fmt.Errorf("%s in the log as done, and claimed now: set OPLEDGER_EFFECTS_PAUSED=true where effects run, "+
			"wait until the leases are over, and recover again", phrase.Counted(len(missing.Held), "effect"))
	}
	return nil
}

func (d recoverer) compare(ctx context.Context, lost evidence) (recovery, error) {
	missing := recovery{
		Intents: []string{}, Operations: []operation.Key{},
		Effects: []lostEffect{}, Later: []lostEffect{}, Held: []lostEffect{}, Open: []openEffect{},
	}
	for _, line := range lost.intents {
		switch _, err := d.ledger.Intents.Read(ctx, line.Correlation); {
		case errors.Is(err, ledger.ErrNoIntent):
			missing.Intents, missing.intents = append(missing.Intents, line.Correlation), append(missing.intents, line)
		case err != nil:
			return missing, err
		}
	}
	for _, line := range lost.operations {
		rec, err := d.ledger.Operations.Read(ctx, line.Operation)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return missing, err
		}
		if !rec.Registered {
			missing.Operations, missing.operations = append(missing.Operations, line.Operation), append(missing.operations, line)
		}
	}
	done := map[lostEffect]bool{}
	for _, effect := range lost.effects {
		done[effect] = true
		verdict, err := d.ledger.Effects.ClaimStatus(ctx, effect.Operation, effect.Effect)
		switch {
		case err != nil:
			return missing, err
		case verdict == ledger.Done:
		case verdict == ledger.Absent:
			missing.Later = append(missing.Later, effect)
		case verdict == ledger.Held:
			missing.Held = append(missing.Held, effect)
		default:
			missing.Effects = append(missing.Effects, effect)
		}
	}
	return missing, d.open(ctx, done, &missing)
}

// open finds the open effects that the log does not show as done.
func (d recoverer) open(ctx context.Context, done map[lostEffect]bool, missing *recovery) error {
	for after := (ledger.Cursor{}); ; {
		page, err := d.ledger.Effects.Open(ctx, after, 500)
		if err != nil {
			return err
		}
		for _, broken := range page.Broken {
			d.outside.Note("this document cannot be read, so its effect may be open: %s", phrase.Safe(broken.Error()))
		}
		for _, found := range page.Items {
			e := found.Effect
			if name := (lostEffect{Operation: e.Operation, Effect: e.Name}); !done[name] {
				missing.Open = append(missing.Open,
					openEffect{lostEffect: name, State: e.State, Attempts: e.Attempts, IdempotencyKey: e.IdempotencyKey})
			}
		}
		if after = page.Next; after.Path == "" {
			return nil
		}
	}
}

// write adds to the ledger what it lacks: intents first, so that the registrations bind them.
func (d recoverer) write(ctx context.Context, missing recovery) error {
	for _, line := range missing.intents {
		if _, err := d.ledger.Intents.Intend(ctx, ledger.Intention{
			Submission: line.submission(), Collection: operation.Collection(line.Collection),
		}); err != nil {
			return err
		}
	}
	for _, line := range missing.operations {
		name, err := operation.ParseName(cmp.Or(line.Name, string(line.Operation)), "")
		if err != nil {
			return fmt.Errorf("registering %q again: %w", line.Operation, err)
		}
		if _, err := d.ledger.Operations.Register(ctx, ledger.Registration{
			Name: name, Submission: line.submission(), SubmittedAt: line.Time,
		}); err != nil {
			return err
		}
	}
	for _, effect := range missing.Effects {
		if _, err := d.ledger.Effects.Recover(ctx, effect.Operation, effect.Effect, d.by); err != nil {
			return err
		}
	}
	return nil
}

func (d recoverer) report(missing recovery) error {
	if d.outside.JSON {
		return terminal.PrintJSON(d.outside.Out, missing)
	}
	verb := "recovered"
	if d.dryRun {
		verb = "missing"
	}
	lines := terminal.NewTable(d.outside.Out)
	lines.Line(fmt.Sprintf("%s: %s, %s, done: %s", verb, phrase.Counted(len(missing.Intents), "intent"),
		phrase.Counted(len(missing.Operations), "operation"), phrase.Counted(len(missing.Effects), "effect")))
	if n := len(missing.Later); n > 0 {
		lines.Line("done in the log, but not ended in the ledger: " + phrase.Counted(n, "effect") +
			"; recover again after a pass has settled their operations")
		for _, effect := range missing.Later {
			lines.Line("  "+phrase.Safe(string(effect.Operation)), phrase.Safe(effect.Effect))
		}
		lines.Realign()
	}
	if n := len(missing.Open); n > 0 {
		lines.Line("open, and not done in the log: " + phrase.Counted(n, "effect") + "; they run when the pause ends")
		lines.Line("OPERATION", "EFFECT", "STATE", "ATTEMPTS", "IDEMPOTENCY KEY")
		for _, effect := range missing.Open {
			lines.Line(phrase.Safe(string(effect.Operation)), phrase.Safe(effect.Effect), effect.State, effect.Attempts,
				phrase.Safe(effect.IdempotencyKey))
		}
	}
	return lines.End()
}
