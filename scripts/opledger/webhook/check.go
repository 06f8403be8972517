package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/secret"
)

func newCheck(outside terminal.Environment) *cobra.Command {
	var flags webhookFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Compare the webhook at Gemini with the settings and the stored secret",
		Long: "Compares the webhook at Gemini with the settings: its URL, its state and its events. Compares the\n" +
			"secrets that Gemini signs with, of which it shows the last characters, with those that the webhook\n" +
			"function verifies with. Prints a line for each finding: ok, note, or wrong with what to do. Without a\n" +
			"URL it takes the only webhook at Gemini, or says which there are. The exit code is 1 if anything is\n" +
			"wrong, 3 if Gemini could not be asked. It cannot find events of Gemini's that this revision does not\n" +
			"know.",
		Example: "  opledger webhook check\n" +
			"  opledger webhook check --url https://webhook-abc-uc.a.run.app --json",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withWebhookAdmin(cmd, outside, flags, func(ctx context.Context, a *webhookAdmin) error {
				return a.check(ctx)
			})
		},
	}
	flags.addURL(cmd)
	flags.addSecret(cmd)
	terminal.JSONFlag(cmd, &outside)
	return cmd
}

// A finding is the result of one check.
type finding struct {
	Level string `json:"level"` // ok, note or wrong
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"`
}

func ok(format string, args ...any) finding {
	return finding{Level: "ok", Text: fmt.Sprintf(format, args...)}
}

func note(format string, args ...any) finding {
	return finding{Level: "note", Text: fmt.Sprintf(format, args...)}
}

func wrong(do, format string, args ...any) finding {
	return finding{Level: "wrong", Text: fmt.Sprintf(format, args...), Do: do}
}

func (a *webhookAdmin) check(ctx context.Context) error {
	if a.kind != config.WebhookStatic && a.url == "" {
		return a.report([]finding{a.checkNone(nil)})
	}
	all, err := a.gemini.List(ctx)
	if err != nil {
		return terminal.Unread(err)
	}
	var findings []finding
	if a.url == "" {
		if findings = a.withoutURL(all); len(all) != 1 {
			return a.report(findings)
		}
		a.url = all[0].URI
	}
	ours := slices.DeleteFunc(slices.Clone(all), func(hook webhooks.Webhook) bool {
		return !webhooks.SameURL(hook.URI, a.url)
	})
	if a.kind != config.WebhookStatic {
		return a.report([]finding{a.checkNone(ours)})
	}
	findings = append(findings, a.checkCount(ours, len(all)))
	known, secretFindings := a.checkStored(ctx)
	findings = append(findings, secretFindings...)
	for _, hook := range ours {
		findings = append(findings, checkState(hook))
		findings = append(findings, checkEvents(hook)...)
		if known != nil {
			findings = append(findings, a.checkSecrets(hook, known)...)
		}
	}
	if len(ours) > 0 {
		findings = append(findings, checkUnused(all, known, a.outside.Time())...)
	}
	return a.report(findings)
}

func (a *webhookAdmin) report(findings []finding) error {
	bad := 0
	for _, f := range findings {
		if f.Level == "wrong" {
			bad++
		}
	}
	if a.outside.JSON {
		if err := terminal.PrintJSON(a.outside.Out, map[string]any{"ok": bad == 0, "findings": findings}); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			line := fmt.Sprintf("%-5s  %s", f.Level, f.Text)
			if f.Do != "" {
				line += "; " + f.Do
			}
			if err := a.print("%s", line); err != nil {
				return err
			}
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d findings are wrong; stdout says what to do about each", bad, len(findings))
	}
	return nil
}

// withoutURL are the findings where no setting says which of the webhooks at Gemini is meant.
func (a *webhookAdmin) withoutURL(all []webhooks.Webhook) []finding {
	const setURL = "set OPLEDGER_WEBHOOK_URL to the https address that Gemini delivers to, or pass --url"
	if len(all) == 0 {
		return []finding{wrong("create one with opledger webhook create --url https://…"+a.keeping()+", or leave it: passes "+
			"then find each completion", "there is no webhook at Gemini, so that it delivers nothing")}
	}
	if len(all) == 1 {
		return []finding{note("OPLEDGER_WEBHOOK_URL is not set: checked is the only webhook at Gemini")}
	}
	var findings []finding
	for _, hook := range all {
		findings = append(findings, note("webhook %s delivers to %s", hook.ID, hook.URI))
	}
	return append(findings, wrong(setURL, "which of these %d is to be checked is not known", len(all)))
}

// checkNone reports static webhooks for our URL where the settings want none.
func (a *webhookAdmin) checkNone(ours []webhooks.Webhook) finding {
	if len(ours) > 0 {
		return wrong("delete it with opledger webhook delete"+a.ofURL()+", or deploy with OPLEDGER_WEBHOOK=static",
			"webhook %s delivers to %s, and OPLEDGER_WEBHOOK is %s", ids(ours), a.url, a.kind)
	}
	return ok("there is no static webhook, as OPLEDGER_WEBHOOK=%s says", a.kind)
}

func (a *webhookAdmin) checkCount(ours []webhooks.Webhook, all int) finding {
	create := "create it with opledger webhook create" + a.ofURL() + a.keeping()
	switch {
	case len(ours) == 0 && all > 0:
		return wrong(create+", or correct OPLEDGER_WEBHOOK_URL: opledger webhook list shows "+
			"the others",
			"there is no webhook for %s, and %d for other addresses", a.url, all)
	case len(ours) == 0:
		return wrong(create, "there is no webhook for %s", a.url)
	case len(ours) > 1:
		return wrong("keep one and delete the others with opledger webhook delete ID",
			"there are %d webhooks for %s (%s): each delivers every event, and signs with its own secret", len(ours), a.url,
			ids(ours))
	}
	return ok("webhook %s delivers to %s", ours[0].ID, ours[0].URI)
}

func checkState(hook webhooks.Webhook) finding {
	switch hook.State {
	case webhooks.Enabled:
		return ok("%s is enabled", hook.ID)
	case webhooks.DisabledByFailures:
		return wrong("fix the receiver, then set OPLEDGER_WEBHOOK_REENABLE=true, beside OPLEDGER_WEBHOOK_URL, so that "+
			"reconcile enables it again, or delete it and create it again",
			"Gemini disabled %s because its deliveries failed: nothing is delivered", hook.ID)
	case webhooks.Disabled:
		return wrong("delete it and create it again", "%s was disabled by a user: nothing is delivered", hook.ID)
	}
	return wrong("see Gemini's documentation for that state",
		"%s is in a state that this revision does not know: %s", hook.ID, hook.State)
}

func checkEvents(hook webhooks.Webhook) []finding {
	missing := without(webhooks.AcceptedEvents(), hook.Events)
	refused := without(without(webhooks.Events(), webhooks.AcceptedEvents()), hook.Events)
	var findings []finding
	if len(missing) > 0 {
		findings = append(findings, wrong("delete it and create it again", "%s is not subscribed to %s", hook.ID,
			strings.Join(missing, " ")))
	} else {
		findings = append(findings, ok("%s is subscribed to %s", hook.ID, strings.Join(hook.Events, " ")))
	}
	if len(refused) > 0 {
		findings = append(findings,
			note("%s is not subscribed to %s, which Gemini has refused: reconcile finds those completions",
				hook.ID, strings.Join(refused, " ")))
	}
	return findings
}

// without returns those of all that are not in some.
func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(one string) bool { return slices.Contains(some, one) })
}

// A knownSecret is one that the webhook function verifies with.
type knownSecret struct{ where, text string }

func trimmed(text string) string { return strings.TrimSpace(text) }

// checkStored reads the secrets that the webhook function verifies with; nil if they cannot be
// known.
func (a *webhookAdmin) checkStored(ctx context.Context) ([]knownSecret, []finding) {
	known := []knownSecret{}
	for i, text := range a.literal {
		known = append(known, knownSecret{fmt.Sprintf("secret %d of OPLEDGER_WEBHOOK_SECRET", i+1), text})
	}
	if a.name != (secret.Name{}) {
		enabled, err := a.secrets.Enabled(ctx, a.name)
		if err != nil {
			return nil, []finding{wrong("", "%v", err)}
		}
		for _, version := range enabled {
			known = append(known, knownSecret{version.Name, trimmed(string(version.Data))})
		}
	} else if len(known) == 0 {
		return nil, []finding{wrong("set OPLEDGER_WEBHOOK_SECRET, or pass --secret projects/PROJECT/secrets/SECRET",
			"it is not known which secrets the webhook function verifies with")}
	}
	var findings []finding
	for _, one := range known {
		if err := checkSecret(one.text); err != nil {
			findings = append(findings, wrong("disable or remove it: the webhook function does not start with it",
				"%s is not a signing secret", one.where))
		}
	}
	return known, findings
}

func (a *webhookAdmin) checkSecrets(hook webhooks.Webhook, known []knownSecret) []finding {
	if len(hook.Secrets) == 0 {
		return []finding{note("Gemini does not list the secrets of %s, so that they cannot be compared", hook.ID)}
	}
	var findings []finding
	for _, listed := range hook.Secrets {
		i := slices.IndexFunc(known, func(one knownSecret) bool { return listed.Of(one.text) })
		switch {
		case i >= 0 && listed.Expires.IsZero():
			findings = append(findings, ok("%s signs with %s, which is %s", hook.ID, listed.Truncated, known[i].where))
		case i >= 0:
			findings = append(findings, ok("%s signs with %s until %s, which is %s", hook.ID, listed.Truncated,
				phrase.LocalTime(listed.Expires), known[i].where))
		case listed.Expires.IsZero():
			findings = append(findings, wrong(a.rotates(hook.ID),
				"%s signs with %s, which the webhook function does not know", hook.ID, listed.Truncated))
		default:
			findings = append(findings,
				note("%s signs with %s as well until %s, which the webhook function does not know; any one signature is enough",
					hook.ID, listed.Truncated, phrase.LocalTime(listed.Expires)))
		}
	}
	return findings
}

// checkUnused reports secrets that the function verifies with and no webhook signs with.
func checkUnused(hooks []webhooks.Webhook, known []knownSecret, now time.Time) []finding {
	var findings []finding
	for _, one := range known {
		if checkSecret(one.text) == nil && !signing(hooks, one.text, now) {
			findings = append(findings, note(
				"no webhook signs with %s: an old secret, which rotate disables 25 hours after it was superseded", one.where))
		}
	}
	return findings
}
