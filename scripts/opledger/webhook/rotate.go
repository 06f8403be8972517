package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/webhooks"
)

func newRotate(outside terminal.Environment) *cobra.Command {
	var flags webhookFlags
	var options secretOutput
	var revokeNow bool
	cmd := &cobra.Command{
		Use:   "rotate [ID]",
		Short: "Give the webhook a new signing secret, with no gap",
		Long: "Makes a new signing secret at Gemini and stores it as a new version in Secret Manager. For 24 hours\n" +
			"Gemini also signs with the old one, and the webhook function verifies with every enabled version, so\n" +
			"that no delivery is refused. Versions that were superseded more than 25 hours ago are disabled. Where\n" +
			"neither $OPLEDGER_WEBHOOK_URL nor an id is given, the only webhook at Gemini is meant.\n\n" +
			"--revoke-now is for a stolen secret: it ends the old secrets at once, here and at Gemini. Deliveries\n" +
			"that were signed before are refused, and reconcile finds those completions. The exit code is 1 if an old\n" +
			"secret may still be accepted; the error says which, and how to disable it.",
		Example: "  opledger webhook rotate\n" +
			"  opledger webhook rotate --revoke-now",
		Args: terminal.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withWebhookAdmin(cmd, outside, flags, func(ctx context.Context, a *webhookAdmin) error {
				return a.rotate(ctx, args, revokeNow, options)
			})
		},
	}
	flags.addURL(cmd)
	flags.addSecret(cmd)
	options.add(cmd, &outside)
	cmd.Flags().BoolVar(&revokeNow, "revoke-now", false, "end the old secrets at once")
	return cmd
}

func (a *webhookAdmin) rotate(ctx context.Context, args []string, revokeNow bool, o secretOutput) error {
	if err := a.needStore(o.print); err != nil {
		return err
	}
	hook, err := a.one(ctx, args)
	if err != nil {
		return err
	}
	if err := a.prepareStore(ctx); err != nil {
		return fmt.Errorf("nothing was rotated: %w", err)
	}
	// An interrupt after this would lose the new secret.
	ctx = context.WithoutCancel(ctx)
	text, err := a.gemini.Rotate(ctx, hook.ID, revokeNow)
	if failure, ok := errors.AsType[*webhooks.Error](err); ok && failure.Unanswered() {
		return fmt.Errorf("%w: %s", err, rotateAgain(revokeNow))
	}
	if err != nil {
		return err
	}
	version, err := a.store(ctx, text)
	if err != nil {
		return fmt.Errorf("webhook %s has a new secret, but it could not be stored: %w: %s", hook.ID, err,
			rotateAgain(revokeNow))
	}
	done := rotation{id: hook.ID, version: version, text: text}
	var unrevoked error
	switch {
	case version == "" && revokeNow:
		done.old = "Gemini no longer signs with the old secrets; the webhook function accepts them until they are removed " +
			"from its settings"
	case version != "" && revokeNow:
		done.disabled, unrevoked = a.disableRevoked(ctx, hook.ID, version, text)
		done.revoked = unrevoked == nil
		done.old = "the old secrets are revoked"
		if unrevoked != nil {
			done.old = "Gemini no longer signs with the old secrets, but not all of them are disabled"
		}
	default:
		done.old = "the old secret stays valid for 24 hours"
		if version != "" {
			done.disabled = a.disableSuperseded(ctx)
		}
	}
	if err = a.reportRotated(done, o); err != nil && version == "" {
		return fmt.Errorf("webhook %s has a new secret, and it was lost: %w: %s", hook.ID, err, rotateAgain(revokeNow))
	}
	return errors.Join(err, unrevoked)
}

// rotateAgain says what to do after a rotation whose secret was lost.
func rotateAgain(revokeNow bool) string {
	if revokeNow {
		return "Gemini no longer signs with the old secrets, so that its deliveries are refused until another rotation " +
			"succeeds, and the webhook function accepts the old ones until then; " +
			"run opledger webhook rotate --revoke-now again now"
	}
	return "the old secret stays valid for 24 hours; run opledger webhook rotate again before they are over"
}

// A rotation is the outcome of one.
type rotation struct {
	id string
	// version is where the new secret is stored; empty: it was printed only.
	version, text string
	// old says what happened to the older secrets.
	old      string
	disabled []string
	// revoked: the old secrets have ended at Gemini and in Secret Manager.
	revoked bool
}

func (a *webhookAdmin) reportRotated(r rotation, o secretOutput) error {
	if a.outside.JSON {
		answer := map[string]any{"webhook": r.id, "disabledVersions": append([]string{}, r.disabled...), "revoked": r.revoked}
		return terminal.PrintJSON(a.outside.Out, o.answer(answer, r.version, r.text))
	}
	err := errors.Join(a.print("webhook %s has a new secret; %s", r.id, r.old), a.printSecret(r.version, r.text, o))
	if len(r.disabled) > 0 {
		err = errors.Join(err, a.print("disabled, because Gemini no longer signs with them: %s",
			strings.Join(r.disabled, ", ")))
	}
	return err
}
