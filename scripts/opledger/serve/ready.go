package serve

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An ownToken is the token that callers of serve need.
type ownToken struct {
	file string // that serve keeps it in; empty: it is in the settings
	text string // empty or "none": they need none
}

// lines say what programs and a browser need to call serve at an address. A token from the settings
// is the operator's, and not printed.
func (t ownToken) lines(url string) []string {
	const watch = "watch in a browser: "
	switch {
	case t.file != "":
		return []string{
			"callers need its token; in another terminal, for your own programs:",
			"  " + export([]string{"OPLEDGER_URL=" + url, "OPLEDGER_TOKEN_FILE=" + t.file}),
			watch + url + "/?token=" + t.text,
		}
	case t.text == "" || t.text == config.NoToken:
		return []string{watch + url}
	default:
		return []string{watch + url + "/?token=$OPLEDGER_SERVE_TOKEN"}
	}
}

// ready returns the lines on stdout that say that serve is ready, and what to do next. theirs are
// the variables that the command was given, set those that it works with. Without --simulate,
// simulation is zero.
func (f *serveFlags) ready(p ports, theirs, set []string, simulation simulated, token ownToken) (string, error) {
	lines := []string{"opledger serves on http://" + p.main.Addr().String()}
	for _, l := range p.webhooks {
		lines = append(lines, "opledger serves /webhook alone on http://"+l.Addr().String())
	}
	if p.metrics != nil {
		lines = append(lines, "opledger serves /metrics and /alerts.yml alone on http://"+p.metrics.Addr().String())
	}
	if f.forwardTo != "" {
		lines = append(lines, "each operation that ends is posted to "+f.forwardTo+", signed with OPLEDGER_EFFECT_SECRET")
		if !slices.Contains(names(theirs), "OPLEDGER_EFFECT_SECRET") {
			lines = append(lines, "  "+export(only(set, "OPLEDGER_EFFECT_SECRET")))
		}
	}
	if f.simulate.on {
		url := "OPLEDGER_URL=" + p.url()
		file, err := simulation.writeExports(append(shared(set), url))
		if err != nil {
			return "", err
		}
		least, most := f.simulate.runTime()
		lines = append(lines,
			fmt.Sprintf("a simulated Gemini answers on %s; its jobs end after %v to %v", simulation.url, least, most),
			"in another terminal, for Gemini's SDKs and your own programs:",
			"  "+export(append(only(set, "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"), url)),
			"or all of it, for the commands of opledger too:",
			"  . "+phrase.ShellWord(file),
			"  "+self()+" submit batch --model gemini-3.5-flash --file files/reviews",
		)
	}
	lines = append(lines, token.lines(p.url())...)
	return strings.Join(lines, "\n") + "\n", nil
}

// shared are the variables that every process with this ledger and this Gemini must have in common.
func shared(variables []string) []string {
	return slices.DeleteFunc(slices.Clone(variables), func(v string) bool {
		name := nameOf(v)
		return !strings.HasPrefix(name, "OPLEDGER_") && name != "GEMINI_API_KEY" && name != "GOOGLE_GEMINI_BASE_URL"
	})
}

// self is the command line that runs this program.
func self() string {
	if path, err := os.Executable(); err == nil && strings.Contains(path, "go-build") { // by go run
		return "go run ./scripts/opledger"
	}
	return terminal.Program
}

// export is a line that sets variables in a shell.
func export(variables []string) string {
	words := make([]string, len(variables))
	for i, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		words[i] = name + "=" + phrase.ShellWord(value)
	}
	return "export " + strings.Join(words, " ")
}

// printReplaced says which of the given variables the simulation leaves out.
func printReplaced(outside terminal.Environment, theirs []string) {
	if set := names(only(theirs, replaced()...)); len(set) > 0 {
		_, _ = fmt.Fprintf(outside.Err, "opledger: --simulate leaves out %s\n", strings.Join(set, ", "))
	}
}

// printRealEffects says on stderr what simulated operations lead to outside of this process.
func printRealEffects(outside terminal.Environment, settings config.Ledger) {
	_, _ = fmt.Fprintln(outside.Err, "opledger: the effects of OPLEDGER_EFFECTS run for real: "+
		strings.Join(settings.EffectNames(), ", ")+"; unset it to leave them out")
}

// printForgotten says on stderr that operations are pending which the simulated Gemini does not have: it keeps nothing
// when its process ends.
func printForgotten(ctx context.Context, outside terminal.Environment, l *ledger.Ledger, store string) error {
	const most = 100
	page, err := l.Operations.List(ctx, ledger.Filter{Pending: true, Limit: most})
	if err != nil {
		return fmt.Errorf("reading what is pending: %w", err)
	}
	pending := slices.DeleteFunc(page.Items, func(r operation.Record) bool { return r.Collection == operation.Jobs })
	if len(pending) == 0 {
		return nil
	}
	count := phrase.Counted(len(pending), "operation")
	if page.Next.Path != "" {
		count = "at least " + count
	}
	_, _ = fmt.Fprintf(outside.Err, "opledger: the simulated Gemini begins empty, and does not know %s that the ledger "+
		"waits for; see opledger list --pending%s\n", count, phrase.StoreFlag(store))
	return nil
}

// names returns the names of the variables that are set, and not empty, each once.
func names(variables []string) []string {
	var all []string
	for _, variable := range variables {
		if name, value, _ := strings.Cut(variable, "="); value != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// only returns the variables that have one of the names.
func only(variables []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(variables), func(v string) bool { return !slices.Contains(names, nameOf(v)) })
}

// omit returns the variables that have none of the names.
func omit(variables []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(variables), func(v string) bool { return slices.Contains(names, nameOf(v)) })
}

func nameOf(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}
