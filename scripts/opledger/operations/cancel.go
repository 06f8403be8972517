package operations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/decision"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/operation"
)

// NewCancel makes opledger cancel.
func NewCancel(outside terminal.Environment) *cobra.Command {
	d := decision.Decider{Outside: outside, AsksGemini: true}
	cmd := &cobra.Command{
		Use:   "cancel NAME --reason TEXT",
		Short: "Ask Gemini to cancel an operation, or cancel a job",
		Long: "Asks Gemini to cancel a pending batch or interaction. Who asked, when and why is recorded first. The\n" +
			"operation stays pending, and is looked up at every interval, until Gemini says how it ended: it may\n" +
			"succeed all the same, and then its effects run as ever. Requests that are done by then may be billed.\n" +
			"Gemini cannot cancel a video. The same command again asks Gemini again. An operation that was abandoned,\n" +
			"or is not registered, is not looked up: opledger reconcile NAME asks Gemini then.\n\n" +
			"Of a job no further batch is started, and the workers have Gemini cancel those that run. It needs no API\n" +
			"key. What succeeded is kept, and the job ends once its batches have.\n\n" +
			"Where opledger serve runs on the ledger's file, it asks Gemini, with its settings and its API key. With\n" +
			"--override-settings it is asked from here.",
		Example: "  opledger cancel batches/abc123 --reason 'the prompt was wrong'\n" +
			"  opledger cancel jobs/nightly-2026-11-23 --reason 'the prompt was wrong'",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: open.Named(func(cmd *cobra.Command, name open.OperationName) error {
			name, err := name.In(cmd.Context(), d.Outside)
			if err != nil {
				return err
			}
			d.AsksGemini = !name.IsJob()
			if d.AsksGemini && !d.Outside.Override {
				if asked, err := cancelByServe(cmd.Context(), &d, name); asked || err != nil {
					return err
				}
			}
			return d.DecideOn(cmd.Context(), name.Resource, func(a *actions.Actions, key operation.Key) (any, string, error) {
				stands, words, err := a.Cancel(cmd.Context(), key, d.Decision)
				return stands.JSON("cancelRequested", map[string]any{"operation": key}), words, err
			})
		}),
	}
	d.Flags(cmd)
	return cmd
}

// cancelByServe has the serve that runs on the ledger ask Gemini. asked is false where none answers, or it has no API
// key: d.Unasked says which.
func cancelByServe(ctx context.Context, d *decision.Decider, name open.OperationName) (asked bool, err error) {
	if err := d.CheckReason(); err != nil {
		return false, err
	}
	where, err := open.Find(d.Outside)
	if err != nil {
		return false, nil // it is found again, with what is wrong
	}
	answer := map[string]any{}
	err = where.AskServe(ctx, (&url.URL{Path: "/operations/" + string(name.Key) + ":cancel"}).EscapedPath(),
		map[string]string{"by": d.By, "why": d.Why}, &answer)
	refused, _ := errors.AsType[*httpfunc.Error](err)
	_, silent := errors.AsType[*open.SilentServeError](err)
	if errors.Is(err, open.ErrNoServe) || silent || refused != nil && refused.Status == http.StatusNotImplemented {
		d.Unasked = err
		return false, nil
	}
	if err != nil {
		return true, open.WithRemedy(err, d.Outside)
	}
	words := fmt.Sprint(answer["words"])
	delete(answer, "words")
	return true, d.Outside.Print(answer, "%s", words)
}
