package deployment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect/spec"
)

// NewEnvironment makes opledger environment.
func NewEnvironment(outside terminal.Environment) *cobra.Command {
	var at deployed
	cmd := &cobra.Command{
		Use:   "environment",
		Short: "Print the settings of a deployment, for the other commands",
		Long: "Prints the settings of a deployment as a script for a shell, so that the other commands plan and read what\n" +
			"its functions do. It asks gcloud about the function Reconcile, which has all of them. Secrets are printed as\n" +
			"their names in Secret Manager, and effects without what looks like a secret in their URLs. Settings that\n" +
			"the deployment does not have are unset: a shell may hold those of a simulation.\n\n" +
			"The script also exports REGION and PREFIX, and makes the project that of gcloud: the playbooks of alerts use\n" +
			"all three.",
		Example: "  eval \"$(opledger environment --project my-project)\"\n" +
			"  eval \"$(opledger environment --project my-project --region us-central1 --prefix staging)\"",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return at.print(cmd.Context(), outside) },
	}
	terminal.Required(cmd, &at.project, "project", "the Google Cloud project")
	cmd.Flags().StringVar(&at.region, "region", "europe-west1", "as it was deployed with")
	cmd.Flags().StringVar(&at.prefix, "prefix", "opledger", "as it was deployed with")
	return cmd
}

// deployed says which deployment is meant.
type deployed struct{ project, region, prefix string }

// print prints the script. Variables that this revision does not read are left out, which stderr says.
func (d deployed) print(ctx context.Context, outside terminal.Environment) error {
	described, err := d.describe(ctx, outside)
	if err != nil {
		return err
	}
	values := map[string]string{}
	for name, value := range described {
		if !ofDeployment(name) || name == "GEMINI_API_KEY" {
			continue // of the platform, or a secret itself, whose name is exported
		}
		if config.Unread([]string{name + "=set"}) != nil {
			outside.Note("%s is left out: this program is of another version than the deployment", name)
			continue
		}
		values[name] = spec.Masked(value)
	}
	foreign, err := config.Names()
	if err != nil {
		return err
	}
	foreign = slices.DeleteFunc(foreign, func(name string) bool {
		_, exported := values[name]
		return exported || !ofDeployment(name)
	})
	script := []string{
		"unset " + strings.Join(foreign, " "),
		assigned("CLOUDSDK_CORE_PROJECT", d.project), assigned("REGION", d.region), assigned("PREFIX", d.prefix),
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		script = append(script, assigned(name, values[name]))
	}
	_, err = fmt.Fprintln(outside.Out, strings.Join(script, "\n"))
	return err
}

// ofDeployment reports whether a variable is a setting, or the project; an emulator's address is neither.
func ofDeployment(name string) bool {
	return slices.ContainsFunc([]string{"OPLEDGER_", "GEMINI_", "GOOGLE_"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// assigned is a line that sets a variable in a shell to exactly this value, with its lines.
func assigned(name, value string) string {
	return "export " + name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

// describe returns the variables of the deployed function Reconcile. The error has what gcloud said.
func (d deployed) describe(ctx context.Context, outside terminal.Environment) (map[string]string, error) {
	gcloud, err := findProgram(outside.Variables, "gcloud")
	if err != nil {
		return nil, fmt.Errorf("reading the deployment: %w; install it: https://cloud.google.com/sdk/docs/install", err)
	}
	command := exec.CommandContext(ctx, gcloud, "functions", "describe", d.prefix+"-reconcile", "--gen2",
		"--region="+d.region, "--project="+d.project, "--format=json(serviceConfig.environmentVariables)", "--quiet")
	command.Env = outside.Variables
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("describing the function %s-reconcile in %s, %s: %w: %s", d.prefix, d.project, d.region, err,
			strings.TrimSpace(said.String()))
	}
	var function struct {
		ServiceConfig struct{ EnvironmentVariables map[string]string }
	}
	if err := json.Unmarshal(out, &function); err != nil {
		return nil, fmt.Errorf("reading what gcloud says of the function: %w", err)
	}
	variables := function.ServiceConfig.EnvironmentVariables
	if variables["OPLEDGER_STORE"] == "" {
		return nil, fmt.Errorf("the function %s-reconcile is not opledger's: it has no OPLEDGER_STORE; check --prefix",
			d.prefix)
	}
	return variables, nil
}

// findProgram returns where the environment's PATH has a program.
func findProgram(variables []string, name string) (string, error) {
	for _, folder := range filepath.SplitList(config.Variables(variables)["PATH"]) {
		if found, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return found, nil
		}
	}
	return "", errors.New(name + " is not in the PATH")
}
