package serve

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/api"
)

// forwardHelp is what the help of serve says about --forward-to.
const forwardHelp = "With --forward-to each operation that ends is posted to a server of your own, without\n" +
	"$OPLEDGER_EFFECTS. The requests are signed with $OPLEDGER_EFFECT_SECRET, or else with a secret that is\n" +
	"made and printed. It stands for this entry of $OPLEDGER_EFFECTS, with private addresses allowed if the URL\n" +
	"is on this machine:\n\n" +
	"  {name: forward, on: [SUCCEEDED, FAILED, CANCELLED, EXPIRED], do: http, url: URL}\n\n"

// checkForward returns what is wrong with the URL of --forward-to; empty is none.
func checkForward(text string, variables []string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	effects := config.Variables(variables)["OPLEDGER_EFFECTS"]
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("it must be the URL to post effects to, such as http://127.0.0.1:9999/hook")
	case !api.SecureURL(u):
		return errors.New("plain http is for this machine only; write https, or an effect in OPLEDGER_EFFECTS")
	case effects != "" && "OPLEDGER_EFFECTS="+effects != forwardEffects(text):
		return fmt.Errorf("OPLEDGER_EFFECTS is set too; unset it, or add this to it and leave the flag out: %s",
			forwardEntry(text))
	default:
		return nil
	}
}

// forwardEntry is what --forward-to stands for, as an entry of OPLEDGER_EFFECTS.
func forwardEntry(to string) string {
	quoted, _ := json.Marshal(to) // a text has no error; YAML reads what JSON quotes
	return fmt.Sprintf("{name: %s, on: [SUCCEEDED, FAILED, CANCELLED, EXPIRED], do: http, url: %s}",
		overview.ForwardEffect, quoted)
}

func forwardEffects(to string) string { return "OPLEDGER_EFFECTS=[" + forwardEntry(to) + "]" }

// forwardSettings returns the variables that --forward-to stands for. An effect secret that
// variables has is kept.
func forwardSettings(variables []string, to string) []string {
	if to == "" {
		return nil
	}
	set := []string{forwardEffects(to)}
	if config.Variables(variables)["OPLEDGER_EFFECT_SECRET"] == "" {
		set = append(set, "OPLEDGER_EFFECT_SECRET="+newSigningSecret())
	}
	if u, err := url.Parse(to); err == nil && api.NamesLoopback(u.Hostname()) {
		set = append(set, "OPLEDGER_EFFECT_ALLOW_PRIVATE=true")
	}
	return set
}

// newSigningSecret returns a secret of Standard Webhooks with a key of 32 random bytes.
func newSigningSecret() string {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key)
}
