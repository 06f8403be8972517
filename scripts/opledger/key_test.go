package main

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

// TestReconcileKeyFromSecret: the API key may be in Secret Manager, newest enabled version; without
// it nothing starts.
func TestReconcileKeyFromSecret(t *testing.T) {
	t.Parallel()
	const full = "projects/p/secrets/key"
	f := newFile(t)
	gemini, variables := fakeGemini(t, f)
	name := batch(t, gemini, "ended", geminisim.StateSucceeded)
	f.register(name)
	secrets, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer secrets.Close()
	for i, variable := range variables {
		if strings.HasPrefix(variable, "GEMINI_API_KEY=") {
			variables[i] = "OPLEDGER_GEMINI_API_KEY_SECRET=" + full
		}
	}
	variables = append(variables, "SECRET_MANAGER_EMULATOR_HOST="+secrets.Addr())
	cli(t, variables, "reconcile", name).want(t, exitFailed, "OPLEDGER_GEMINI_API_KEY_SECRET", full).complaint(t)
	secrets.Put(full, "k\n", time.Now())
	cli(t, variables, "reconcile", name).want(t, exitDone)
	cli(t, append(variables, "GEMINI_API_KEY=k"), "reconcile", name).want(t, exitUsage,
		"set only one of them").complaint(t)
}
