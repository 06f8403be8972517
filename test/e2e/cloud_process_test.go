package e2e

import (
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// startFunction starts a deployed function with exactly these variables beside what Cloud Run sets,
// and does not wait for it.
func startFunction(t *testing.T, id, function string, variables []string) (*process, error) {
	return startFunctionOf(t, functionBinary(t, function), id, function, variables)
}

// startFunctionOf is startFunction with a program that the caller has built.
func startFunctionOf(t *testing.T, program, id, function string, variables []string) (*process, error) {
	port, err := harness.FreePort(t)
	if err != nil {
		return nil, err
	}
	target := strings.TrimPrefix(function, team)
	p := newProcess(id)
	p.function = function
	p.address = "http://127.0.0.1:" + strconv.Itoa(port)
	p.command = exec.Command(program)
	p.command.Env = append([]string{
		raceOptions, "FUNCTION_TARGET=" + target, "PORT=" + strconv.Itoa(port),
		"K_SERVICE=" + target, "K_REVISION=1", "K_CONFIGURATION=" + target,
	}, only(variables, uses[function])...)
	if err := p.start(p.printed, p.grumbled); err != nil {
		return nil, err
	}
	go p.awaitPort(port)
	return p, nil
}

// awaitPort closes ready when the process takes connections. The framework does not say when that is.
// A process that never does is ended, so that nothing waits for it in vain.
func (p *process) awaitPort(port int) {
	answers := until(patience, func() bool {
		select {
		case <-p.done:
			return true
		default:
		}
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return false
		}
		_ = c.Close() // it has proven what it was for
		close(p.ready)
		return true
	})
	if !answers {
		_ = p.command.Process.Kill() // it ends by itself, for all that is checked
	}
}

// printed takes what a function writes to stdout: its log, and the empty line that the framework flushes with.
func (p *process) printed(line string) {
	if line != "" && !p.counted(line) {
		p.logged(line)
	}
}

// grumbled takes what a function writes to stderr.
func (p *process) grumbled(line string) {
	if line == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.noise = append(p.noise, line)
}

// uses are the variables that each function is deployed with: its own and no other.
var uses = func() map[string][]string {
	common := []string{
		"GOOGLE_CLOUD_PROJECT", "FIRESTORE_EMULATOR_HOST", "CLOUD_RUN_TIMEOUT_SECONDS", "OPLEDGER_STORE", "OPLEDGER_EFFECTS",
		"OPLEDGER_GRACE", "OPLEDGER_INTERVAL", "OPLEDGER_CLAIM_TTL", "OPLEDGER_MAX_ATTEMPTS",
	}
	with := func(more ...string) []string { return append(more, common...) }
	return map[string][]string{
		"Webhook":  with("PUBSUB_EMULATOR_HOST", "OPLEDGER_TOPIC", "OPLEDGER_WEBHOOK_SECRET", "OPLEDGER_TOLERANCE"),
		"Register": with("PUBSUB_EMULATOR_HOST", "OPLEDGER_TOPIC"),
		"Reconcile": with("PUBSUB_EMULATOR_HOST", "OPLEDGER_TOPIC", "OPLEDGER_WEBHOOK_SECRET", "GEMINI_API_KEY",
			"GOOGLE_GEMINI_BASE_URL"),
		"Effects": with("PUBSUB_EMULATOR_HOST", "OPLEDGER_TOPIC", "OPLEDGER_EFFECT_ALLOW_PRIVATE", "GEMINI_API_KEY",
			"GOOGLE_GEMINI_BASE_URL", "GOMEMLIMIT"),
		teamEffects: with("PUBSUB_EMULATOR_HOST", "OPLEDGER_TOPIC", "TEAM_URL", "CLOCK_SHIFT"),
	}
}()

// only returns the variables of those names.
func only(variables, names []string) (kept []string) {
	for _, variable := range variables {
		for _, name := range names {
			if strings.HasPrefix(variable, name+"=") {
				kept = append(kept, variable)
			}
		}
	}
	return kept
}
