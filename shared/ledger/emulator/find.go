package emulator

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// ErrMissing is wrapped by every error about something that is not installed. Its text tells the
// operator what to install.
var ErrMissing = errors.New("not installed")

// Installed holds the paths of the emulators' parts; a missing one is empty.
type Installed struct {
	Java      string // the program
	Firestore string // the jar
	PubSub    string // the jar
}

// Find searches for java and both emulators. The error names each missing part and how to install
// it; the parts that were found are returned all the same.
func Find() (Installed, error) {
	var found Installed
	var missing []error
	var err error
	if found.Java, err = exec.LookPath("java"); err != nil {
		missing = append(missing, fmt.Errorf("java is %w: install a Java runtime, version 17 or later", ErrMissing))
	}
	root, err := sdkRoot()
	if err != nil {
		return found, errors.Join(append(missing, err)...)
	}
	found.Firestore, err = jar(root, "Firestore", "cloud-firestore-emulator", "google-cloud-cli-firestore-emulator",
		"cloud-firestore-emulator/cloud-firestore-emulator.jar")
	missing = append(missing, err)
	found.PubSub, err = jar(root, "Pub/Sub", "pubsub-emulator", "google-cloud-cli-pubsub-emulator",
		"pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar")
	return found, errors.Join(append(missing, err)...)
}

// sdkRoot returns the SDK's directory.
func sdkRoot() (string, error) {
	gcloud, err := exec.LookPath("gcloud")
	if err != nil {
		return "", fmt.Errorf("gcloud is %w: see https://cloud.google.com/sdk/docs/install", ErrMissing)
	}
	// gcloud is nearly always a link into the SDK. Running it takes most of a second, so that comes
	// second.
	if target, err := filepath.EvalSymlinks(gcloud); err == nil {
		root := filepath.Dir(filepath.Dir(target))
		if info, err := os.Stat(filepath.Join(root, "platform")); err == nil && info.IsDir() {
			return root, nil
		}
	}
	answer, err := exec.Command(gcloud, "info", "--format=value(installation.sdk_root)").Output()
	if err != nil {
		return "", fmt.Errorf("asking gcloud where it is installed: %w", err)
	}
	return strings.TrimSpace(string(answer)), nil
}

// jar returns the newest file that matches pattern under the SDK's platform directory.
func jar(root, name, component, debianPackage, pattern string) (string, error) {
	matches, err := filepath.Glob(filepath.Join(root, "platform", filepath.FromSlash(pattern)))
	if err != nil || len(matches) == 0 {
		return "", fmt.Errorf(
			"the %s emulator is %w: run \"gcloud components install %s\" or, where gcloud came from apt, \"apt-get install %s\"",
			name, ErrMissing, component, debianPackage,
		)
	}
	return slices.Max(matches), nil
}
