package playbooks

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// apart replaces a block of commands for Google Cloud.
const apart = "*These commands are for a deployment on Google Cloud.*\n"

// needsVariables is above commands that manage the webhook at Gemini.
const needsVariables = "# opledger webhook needs the variables of serve, too: GEMINI_API_KEY, OPLEDGER_WEBHOOK_URL …\n"

var (
	// deployed is a command that only a deployment on Google Cloud has use for.
	deployed = regexp.MustCompile(`\bgcloud\b|\bterraform\b|opledger environment|scripts/(deploy|doctor)\b`)
	// exports is a command that sets variables, of which set finds each; variable finds those that one uses.
	exports  = regexp.MustCompile(`^ *(?:\$ )?export `)
	set      = regexp.MustCompile(`(\w+)=`)
	variable = regexp.MustCompile(`\$\{?(\w+)`)
	fenced   = regexp.MustCompile("(?ms)^( *)```(sh|console)\n(.*?)^ *```\n")
)

// ForFile is a playbook for a ledger in a file, on which opledger serve works: without the commands of Google Cloud and
// the variables that only those use. It begins by naming the ledger, such as sqlite:/var/lib/opledger/ledger.db as a
// word of the shell, so that the commands run as they are pasted. Where some manage the webhook at Gemini, it says
// there what else they need: no serve answers those.
func ForFile(playbook []byte, store string) []byte {
	used, webhook := map[string]bool{}, false
	for _, block := range fenced.FindAllSubmatch(playbook, -1) {
		for _, command := range commands(string(block[3])) {
			if deployed.MatchString(command) {
				continue
			}
			webhook = webhook || strings.HasPrefix(command, "opledger webhook ")
			for _, name := range variable.FindAllStringSubmatch(command, -1) {
				used[name[1]] = true
			}
		}
	}
	idle := func(command string) bool {
		return exports.MatchString(command) && !slices.ContainsFunc(set.FindAllStringSubmatch(command, -1),
			func(name []string) bool { return used[name[1]] })
	}
	named := false
	return fenced.ReplaceAllFunc(playbook, func(block []byte) []byte {
		parts := fenced.FindSubmatch(block)
		var kept strings.Builder
		for _, command := range commands(string(parts[3])) {
			if !deployed.MatchString(command) && !idle(command) {
				kept.WriteString(command)
			}
		}
		indent, text := string(parts[1]), kept.String()
		if !named && bytes.Contains(parts[3], []byte("opledger environment")) {
			named = true
			prompt := ""
			if string(parts[2]) == "console" {
				prompt = "$ "
			}
			lines := indent + prompt + "export OPLEDGER_STORE=" + store + "\n"
			if webhook {
				lines += indent + needsVariables
			}
			text = lines + text
		}
		if strings.TrimSpace(text) == "" {
			return []byte(indent + apart)
		}
		return []byte(indent + "```" + string(parts[2]) + "\n" + text + indent + "```\n")
	})
}

// commands cuts a script between its commands: a line that goes on, or a loop, stays whole.
func commands(script string) (all []string) {
	var command strings.Builder
	loops := 0
	for line := range strings.Lines(script) {
		command.WriteString(line)
		words := strings.Fields(line)
		if len(words) > 0 && (words[0] == "for" || words[0] == "while") {
			loops++
		}
		if len(words) > 0 && words[0] == "done" {
			loops--
		}
		if loops == 0 && !strings.HasSuffix(strings.TrimSpace(line), `\`) {
			all = append(all, command.String())
			command.Reset()
		}
	}
	return append(all, command.String())
}
