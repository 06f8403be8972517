package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/opledger/opledger/shared/ledger/emulator"
)

// RestartFirestore ends a Firestore emulator and returns another, at another address, that holds
// what the first held of a project's default database. It is for tests of a store that goes away.
//
// All is as it was but empty arrays, which are gone. What is committed meanwhile may be lost. So the
// caller first cuts the connections of every writer: a call that was under way is then ambiguous for
// it, as it is where a server dies. An emulator that cannot be exported goes on.
func RestartFirestore(
	ctx context.Context, p *emulator.Process, project string,
) (_ *emulator.Process, err error) {
	dir, err := os.MkdirTemp("", "firestore-export-")
	if err != nil {
		return nil, fmt.Errorf("restarting the Firestore emulator: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	const name = "export"
	if err := export(ctx, p.Addr(), project, dir, name); err != nil {
		return nil, fmt.Errorf("restarting the Firestore emulator: exporting %s: %w", project, err)
	}
	p.Stop()
	return emulator.StartFirestoreWith(ctx, "--import-data="+filepath.Join(dir, name, name+".overall_export_metadata"))
}

// export writes the default database of a project in the emulator at addr into a folder of that name in dir.
func export(ctx context.Context, addr, project, dir, name string) error {
	body, err := json.Marshal(map[string]string{
		"database": "projects/" + project + "/databases/(default)", "export_directory": dir, "export_name": name,
	})
	if err != nil {
		return err
	}
	url := "http://" + addr + "/emulator/v1/projects/" + project + ":export"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return err
}
